package pods

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/berthproject/berth/agent/cgroup"
	"github.com/berthproject/berth/agent/probe"
	"github.com/berthproject/berth/engine/podlifecycle"
)

// Cgroups manages the cgroups of the machine. *cgroup.Host implements it.
type Cgroups interface {
	Create(path string, l cgroup.Limits) error
	Kill(path string) error
	Remove(ctx context.Context, path string) error
	Exists(path string) bool
	Children(path string) ([]string, error)
	OOMKills(path string) int64
	SetLimits(path string, l cgroup.Limits) error
	// WorkingSet returns the memory that reclaiming inactive page cache does not free, in bytes.
	WorkingSet(path string) (int64, error)
}

// Volumes manages the volumes of the node's pods. *volume.Volumes implements it.
type Volumes interface {
	Prepare(ctx context.Context, pod *corev1.Pod) error
	Mounts(pod *corev1.Pod, container *corev1.Container, expand func(string) (string, error)) ([]*cri.Mount, []*cri.Device, error)
	// MountImage makes an image, as returned by Images.Ensure, the content of an image volume.
	MountImage(ctx context.Context, pod *corev1.Pod, volume, image string) error
	UpdatePod(pod *corev1.Pod)
	// Refresh updates the files of ConfigMaps, Secrets and tokens. It returns soon if the API server does not answer.
	Refresh(ctx context.Context, uid types.UID)
	Teardown(uid types.UID) error
	Pods() ([]types.UID, error)
}

// Prober runs container probes. *probe.Prober implements it.
type Prober interface {
	Start(t probe.Target)
	Stop(pod types.UID, container string, probes podlifecycle.Probes)
}

// Images pulls the images of containers.
type Images interface {
	// Ensure pulls the container's image if its pull policy requires it. It returns the image
	// reference for CreateContainer. The error may be a *WaitingError.
	Ensure(ctx context.Context, pod *corev1.Pod, container *corev1.Container, sandbox *cri.PodSandboxConfig) (ref string, err error)
}
