package runtime

import (
	"context"
	"time"

	cri "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// Service is what runs real containers, in CRI's terms: sandboxes, containers,
// images and their figures. Calls block until done or ctx ends; they may come
// from many goroutines. Errors carry gRPC codes (google.golang.org/grpc/status):
// NotFound for an id or image that is not there.
type Service interface {
	Version(ctx context.Context) (*cri.VersionResponse, error)
	Status(ctx context.Context) (*cri.RuntimeStatus, error)
	Sandboxes
	Containers
	Images
	// Events calls seen for each end of a container that the runtime tells of,
	// until ctx ends or the stream breaks. It is a hint and may lose some: who
	// must know lists the containers.
	Events(ctx context.Context, seen func(ContainerEvent)) error
	Close() error
}

// Sandboxes are what a pod's containers share.
type Sandboxes interface {
	RunPodSandbox(ctx context.Context, config *cri.PodSandboxConfig, handler string) (id string, err error)
	// StopPodSandbox ends all that runs in it. It may be called again.
	StopPodSandbox(ctx context.Context, id string) error
	RemovePodSandbox(ctx context.Context, id string) error
	PodSandboxStatus(ctx context.Context, id string) (*cri.PodSandboxStatus, error)
	ListPodSandbox(ctx context.Context, filter *cri.PodSandboxFilter) ([]*cri.PodSandbox, error)
	// PortForward is the URL of a stream to ports of the sandbox.
	PortForward(ctx context.Context, request *cri.PortForwardRequest) (url string, err error)
}

// Containers are made in a sandbox, started, and stopped.
type Containers interface {
	CreateContainer(ctx context.Context, sandbox string, config *cri.ContainerConfig, of *cri.PodSandboxConfig) (id string, err error)
	StartContainer(ctx context.Context, id string) error
	// StopContainer asks the container to end and kills it after grace; 0 kills at once.
	StopContainer(ctx context.Context, id string, grace time.Duration) error
	RemoveContainer(ctx context.Context, id string) error
	ContainerStatus(ctx context.Context, id string) (*cri.ContainerStatus, error)
	ListContainers(ctx context.Context, filter *cri.ContainerFilter) ([]*cri.Container, error)
	ListContainerStats(ctx context.Context, filter *cri.ContainerStatsFilter) ([]*cri.ContainerStats, error)
	// ExecSync runs a command in the container. A command that ran has no error, whatever its code.
	ExecSync(ctx context.Context, id string, command []string, timeout time.Duration) (*cri.ExecSyncResponse, error)
	// Exec is the URL of a stream that runs a command.
	Exec(ctx context.Context, request *cri.ExecRequest) (url string, err error)
	// Attach is the URL of a stream to the container's own process.
	Attach(ctx context.Context, request *cri.AttachRequest) (url string, err error)
	// ReopenContainerLog makes the container write to a new file under its log path.
	ReopenContainerLog(ctx context.Context, id string) error
}

// Images are those that the runtime holds.
type Images interface {
	// PullImage brings an image and answers with its id.
	PullImage(ctx context.Context, image *cri.ImageSpec, auth *cri.AuthConfig, sandbox *cri.PodSandboxConfig) (id string, err error)
	// ImageStatus is nil when the image is not there.
	ImageStatus(ctx context.Context, image *cri.ImageSpec) (*cri.Image, error)
	ListImages(ctx context.Context) ([]*cri.Image, error)
	// RemoveImage removes an image with all of its tags.
	RemoveImage(ctx context.Context, image *cri.ImageSpec) error
	ImageFsInfo(ctx context.Context) (*cri.ImageFsInfoResponse, error)
}

// ContainerEvent says that a container has ended, or that the kernel killed in it for want of memory.
type ContainerEvent struct {
	Container string // id
	OOM       bool   // not an end: a hint that must not be believed alone, since the runtime tells it of all containers of a node
}

// Layer is an unpacked layer of an image, or what a container has written onto it. Layers of one key
// are one on the disk.
type Layer struct {
	Key           string
	Bytes, Inodes int64
}
