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

// Cgroups are a machine's cgroups; *cgroup.Host is one.
type Cgroups interface {
	Create(path string, l cgroup.Limits) error
	Kill(path string) error
	Remove(ctx context.Context, path string) error
	Exists(path string) bool
	Children(path string) ([]string, error)
	OOMKills(path string) int64
}

// Volumes are those of the node's pods; *volume.Volumes is one.
type Volumes interface {
	Prepare(ctx context.Context, pod *corev1.Pod) error
	Mounts(pod *corev1.Pod, container *corev1.Container, expand func(string) (string, error)) ([]*cri.Mount, []*cri.Device, error)
	UpdatePod(pod *corev1.Pod)
	Teardown(uid types.UID) error
	Pods() ([]types.UID, error)
}

// Prober asks containers how they are; *probe.Prober is one.
type Prober interface {
	Start(t probe.Target)
	Stop(pod types.UID, container string, probe podlifecycle.Probes)
}

// Images brings the images of containers.
type Images interface {
	// Ensure makes the container's image be there, by its pull policy, and answers with what
	// CreateContainer is to be told. An error may be a *Wait.
	Ensure(ctx context.Context, pod *corev1.Pod, container *corev1.Container, sandbox *cri.PodSandboxConfig) (ref string, err error)
}
