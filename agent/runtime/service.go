package runtime

import (
	"context"
	"time"

	cri "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// Service runs sandboxes, containers and images in CRI's terms. Calls block until they are done
// or ctx ends, and may be concurrent. Errors carry gRPC codes (google.golang.org/grpc/status):
// NotFound for an unknown ID or image.
type Service interface {
	Version(ctx context.Context) (*cri.VersionResponse, error)
	// Status returns the conditions of the runtime and its network, its features and those of its handlers.
	Status(ctx context.Context) (*cri.StatusResponse, error)
	Sandboxes
	Containers
	Images
	// Events calls handle for each container exit and OOM kill until ctx ends or the stream breaks.
	// Events may be lost: use ListContainers for a reliable state.
	Events(ctx context.Context, handle func(ContainerEvent)) error
	Close() error
}

// Sandboxes manages pod sandboxes.
type Sandboxes interface {
	RunPodSandbox(ctx context.Context, config *cri.PodSandboxConfig, handler string) (id string, err error)
	// StopPodSandbox stops the sandbox and all its containers. It is idempotent.
	StopPodSandbox(ctx context.Context, id string) error
	RemovePodSandbox(ctx context.Context, id string) error
	PodSandboxStatus(ctx context.Context, id string) (*cri.PodSandboxStatus, error)
	ListPodSandbox(ctx context.Context, filter *cri.PodSandboxFilter) ([]*cri.PodSandbox, error)
	// PortForward returns the URL of a stream to ports of the sandbox.
	PortForward(ctx context.Context, request *cri.PortForwardRequest) (url string, err error)
}

// Containers manages the containers of sandboxes.
type Containers interface {
	CreateContainer(ctx context.Context, sandbox string, config *cri.ContainerConfig, sandboxConfig *cri.PodSandboxConfig) (id string, err error)
	StartContainer(ctx context.Context, id string) error
	// StopContainer stops the container and kills it after grace; 0 kills it immediately.
	StopContainer(ctx context.Context, id string, grace time.Duration) error
	// RemoveContainer kills and removes the container. It succeeds if the container does not exist.
	RemoveContainer(ctx context.Context, id string) error
	// UpdateContainerResources changes the limits of a container that has not exited. Zero values keep
	// the current ones.
	UpdateContainerResources(ctx context.Context, id string, resources *cri.LinuxContainerResources) error
	ContainerStatus(ctx context.Context, id string) (*cri.ContainerStatus, error)
	ListContainers(ctx context.Context, filter *cri.ContainerFilter) ([]*cri.Container, error)
	ListContainerStats(ctx context.Context, filter *cri.ContainerStatsFilter) ([]*cri.ContainerStats, error)
	// ExecSync runs a command in the container. A nonzero exit code is not an error.
	ExecSync(ctx context.Context, id string, command []string, timeout time.Duration) (*cri.ExecSyncResponse, error)
	// Exec returns the URL of a stream that runs a command.
	Exec(ctx context.Context, request *cri.ExecRequest) (url string, err error)
	// Attach returns the URL of a stream to the container's main process.
	Attach(ctx context.Context, request *cri.AttachRequest) (url string, err error)
	// ReopenContainerLog reopens the container's log file at its path.
	ReopenContainerLog(ctx context.Context, id string) error
}

// Images manages the images of the runtime.
type Images interface {
	// PullImage pulls an image and returns its ID.
	PullImage(ctx context.Context, image *cri.ImageSpec, auth *cri.AuthConfig, sandbox *cri.PodSandboxConfig) (id string, err error)
	// ImageStatus returns nil if the image does not exist.
	ImageStatus(ctx context.Context, image *cri.ImageSpec) (*cri.Image, error)
	ListImages(ctx context.Context) ([]*cri.Image, error)
	// RemoveImage removes an image and all its tags.
	RemoveImage(ctx context.Context, image *cri.ImageSpec) error
	ImageFsInfo(ctx context.Context) (*cri.ImageFsInfoResponse, error)
}

// ContainerEvent reports that a container has exited, or an OOM kill in it.
type ContainerEvent struct {
	Container string // ID
	OOM       bool   // an OOM kill, not an exit; only a hint, because runtimes report it for all containers of a node
}

// Layer is an unpacked image layer or the writable layer of a container. Layers with the same key
// share their disk space.
type Layer struct {
	Key           string
	Bytes, Inodes int64
}

// ImageMounts prepares images for a mount on the node, for runtimes that cannot mount an image into a
// container themselves (CRI's Mount.image).
type ImageMounts interface {
	// MountsOfImage returns the read-only mounts that show the content of an image, or none if the runtime
	// mounts images itself. It keeps the content until ReleaseImageMounts. owner and name identify the
	// request; a repeated one returns the same mounts.
	MountsOfImage(ctx context.Context, owner, name, image string) ([]ImageMount, error)
	// ReleaseImageMounts releases the content of all images of an owner. They must be unmounted.
	ReleaseImageMounts(ctx context.Context, owner string) error
}

// ImageMount is a mount of a snapshot, as in mount(8).
type ImageMount struct {
	Type    string // overlay or bind
	Source  string
	Options []string
}
