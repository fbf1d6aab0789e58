package localnodes

import (
	"maps"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/berthproject/berth/agent"
	"github.com/berthproject/berth/internal/config"
)

// ApplyKubelet applies a KubeletConfiguration and --node-labels to simulated nodes: taints,
// labels, and, unless a manifest sets them, the number of pods and what is allocatable. Everything is allocatable if neither
// reservations nor evictionHard are set.
func ApplyKubelet(nodes []*corev1.Node, k *config.Kubelet, labels map[string]string) {
	for _, n := range nodes {
		n.Spec.Taints = append(n.Spec.Taints, k.RegisterWithTaints...)
		if len(labels) > 0 {
			merged := maps.Clone(labels)
			maps.Copy(merged, n.Labels)
			n.Labels = merged
		}
		if n.Status.Capacity == nil || n.Status.Allocatable != nil {
			continue
		}
		if _, set := n.Status.Capacity[corev1.ResourcePods]; !set {
			n.Status.Capacity[corev1.ResourcePods] = *resource.NewQuantity(int64(k.MaxPods), resource.DecimalSI)
		}
		if len(k.KubeReserved)+len(k.SystemReserved) > 0 || k.HasEvictionHard {
			n.Status.Allocatable = agent.Allocatable(n.Status.Capacity, k.KubeReserved, k.SystemReserved, k.HardEviction(n.Status.Capacity))
		}
	}
}
