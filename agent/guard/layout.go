package guard

import (
	"path"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/berthproject/berth/agent/cgroup"
)

// Layout is the kubelet's layout of pod cgroups.
type Layout struct {
	// Systemd selects the systemd cgroup driver, which names each slice after its ancestors.
	Systemd bool
	// Root is the kubelet's cgroupRoot; default "/".
	Root string
}

// DetectLayout returns the layout whose pods cgroup exists; the kubelet creates it at start.
func DetectLayout(h *cgroup.Host, root string) Layout {
	l := Layout{Systemd: true, Root: root}
	l.Systemd = h.Exists(l.Pods())
	return l
}

// Pods returns the parent cgroup of all pods.
func (l Layout) Pods() string {
	if l.Systemd {
		return path.Join("/", l.Root, "kubepods.slice")
	}
	return path.Join("/", l.Root, "kubepods")
}

// Pod returns the cgroup of a pod.
func (l Layout) Pod(class corev1.PodQOSClass, uid types.UID) string {
	level := strings.ToLower(string(class))
	if class == corev1.PodQOSGuaranteed || class == "" {
		level = ""
	}
	if !l.Systemd {
		return path.Join(l.Pods(), level, "pod"+string(uid))
	}
	name, parent := "kubepods", l.Pods()
	if level != "" {
		name += "-" + level
		parent = path.Join(parent, name+".slice")
	}
	// systemd reads a dash in a slice name as a level of the hierarchy.
	return path.Join(parent, name+"-pod"+strings.ReplaceAll(string(uid), "-", "_")+".slice")
}
