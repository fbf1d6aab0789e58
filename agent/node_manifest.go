package agent

import (
	"fmt"
	"maps"
	"os"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Version is the kubelet version that nodes report: the Kubernetes release that this agent
// implements.
const Version = "v1.37.2-berth"

// NewNode returns a node manifest with the given capacity.
func NewNode(name string, cpu, memory resource.Quantity) *corev1.Node {
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Status: corev1.NodeStatus{Capacity: corev1.ResourceList{
			corev1.ResourceCPU: cpu, corev1.ResourceMemory: memory,
		}},
	}
}

// Allocatable returns capacity minus all reserved lists, at least 0. Reservations of resources
// that capacity does not have are ignored.
func Allocatable(capacity corev1.ResourceList, reserved ...corev1.ResourceList) corev1.ResourceList {
	out := capacity.DeepCopy()
	for _, list := range reserved {
		for name, q := range list {
			remaining, ok := out[name]
			if !ok {
				continue
			}
			if remaining.Sub(q); remaining.Sign() < 0 {
				remaining = resource.Quantity{Format: remaining.Format}
			}
			out[name] = remaining
		}
	}
	return out
}

// AdoptedManifest returns the parts of a node that an agent maintains if another client has created the node.
// These are the pod CIDRs, capacity, allocatable, and the labels and annotations that the agent needs. The
// creator owns all other fields, labels and annotations.
func AdoptedManifest(n *corev1.Node) *corev1.Node {
	out := &corev1.Node{}
	out.Name, out.Labels, out.Annotations = n.Name, map[string]string{}, map[string]string{}
	for _, label := range []string{corev1.LabelHostname, corev1.LabelOSStable, corev1.LabelArchStable} {
		if value, ok := n.Labels[label]; ok {
			out.Labels[label] = value
		}
	}
	maps.Copy(out.Annotations, n.Annotations)
	maps.DeleteFunc(out.Annotations, func(key, _ string) bool { return !strings.HasPrefix(key, "sim.berth.dev/") })
	out.Spec.PodCIDR, out.Spec.PodCIDRs = n.Spec.PodCIDR, n.Spec.PodCIDRs
	out.Status.Capacity, out.Status.Allocatable = n.Status.Capacity.DeepCopy(), n.Status.Allocatable.DeepCopy()
	return out
}

// hasContainerRuntime reports whether the manifest names a container runtime. Otherwise the
// node is simulated.
func hasContainerRuntime(n *corev1.Node) bool { return n.Status.NodeInfo.ContainerRuntimeVersion != "" }

// completeManifest returns a copy of a node manifest with defaults for labels, the capacity for pods, and
// allocatable. A simulated node also gets defaults for ephemeral storage and node info. index identifies
// the manifest in errors.
func completeManifest(n *corev1.Node, index int) (*corev1.Node, error) {
	n = n.DeepCopy()
	if n.Name == "" {
		return nil, fmt.Errorf("node %d: metadata.name is required", index)
	}
	labels := map[string]string{
		corev1.LabelHostname: n.Name, corev1.LabelOSStable: "linux", corev1.LabelArchStable: "amd64",
	}
	maps.Copy(labels, n.Labels)
	n.Labels = labels
	if n.Status.Capacity == nil {
		n.Status.Capacity = n.Status.Allocatable.DeepCopy()
	}
	if len(n.Status.Capacity) == 0 {
		return nil, fmt.Errorf("node %q: status.capacity is required, for example {cpu: 8, memory: 16Gi}", n.Name)
	}
	for name, q := range map[corev1.ResourceName]string{corev1.ResourcePods: "110", corev1.ResourceEphemeralStorage: "100Gi"} {
		if _, ok := n.Status.Capacity[name]; !ok && (name == corev1.ResourcePods || !hasContainerRuntime(n)) {
			n.Status.Capacity[name] = resource.MustParse(q)
		}
	}
	if n.Status.Allocatable == nil {
		n.Status.Allocatable = corev1.ResourceList{}
	}
	for name, q := range n.Status.Capacity {
		if _, ok := n.Status.Allocatable[name]; !ok {
			n.Status.Allocatable[name] = q
		}
	}
	if !hasContainerRuntime(n) {
		fillSimulated(n)
	}
	return n, nil
}

// fillSimulated sets the fields that an agent of a real node detects.
func fillSimulated(n *corev1.Node) {
	n.Status.NodeInfo = corev1.NodeSystemInfo{
		OperatingSystem: "linux", Architecture: "amd64", KubeletVersion: Version,
		ContainerRuntimeVersion: "simulated://1", OSImage: "simulated", KernelVersion: kernelVersion(),
	}
}

var kernelVersion = sync.OnceValue(func() string {
	b, err := os.ReadFile("/proc/sys/kernel/osrelease")
	if err != nil {
		return "unknown"
	}
	return strings.TrimSpace(string(b))
})
