package guard

import (
	"path"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/berthproject/berth/agent/cgroup"
)

// Layout is where a kubelet puts its pods.
type Layout struct {
	// Systemd says that the kubelet's cgroup driver is systemd's: each cgroup is a slice
	// that is named after all above it.
	Systemd bool
	// Root is the kubelet's cgroupRoot, "/" unless it was told otherwise.
	Root string
}

// DetectLayout looks which of the two a node has: the kubelet makes the cgroup of all
// pods when it starts.
func DetectLayout(h *cgroup.Host, root string) Layout {
	l := Layout{Systemd: true, Root: root}
	l.Systemd = h.Exists(l.Pods())
	return l
}

// Pods is the cgroup of all pods.
func (l Layout) Pods() string {
	if l.Systemd {
		return path.Join("/", l.Root, "kubepods.slice")
	}
	return path.Join("/", l.Root, "kubepods")
}

// Pod is the cgroup of a pod.
func (l Layout) Pod(class corev1.PodQOSClass, uid types.UID) string {
	level := strings.ToLower(string(class))
	if class == corev1.PodQOSGuaranteed || class == "" {
		level = ""
	}
	if !l.Systemd {
		return path.Join(l.Pods(), level, "pod"+string(uid))
	}
	name, at := "kubepods", l.Pods()
	if level != "" {
		name += "-" + level
		at = path.Join(at, name+".slice")
	}
	// A dash in a slice's name stands for one level more.
	return path.Join(at, name+"-pod"+strings.ReplaceAll(string(uid), "-", "_")+".slice")
}
