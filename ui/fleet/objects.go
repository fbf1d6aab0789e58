package fleet

import (
	"math"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	resourcehelper "k8s.io/component-helpers/resource"
)

// Node is what the page shows of a node. Amounts are cores, bytes and counts.
type Node struct {
	Name        string             `json:"name"`
	Labels      map[string]string  `json:"labels"`
	Allocatable map[string]float64 `json:"allocatable"`
	Ready       bool               `json:"ready"`
	Cordoned    bool               `json:"cordoned"`
	Taints      []string           `json:"taints"`
	Pressure    []string           `json:"pressure"`
}

// Pod is what the page shows of a pod that has not finished.
type Pod struct {
	Namespace, Name, Node string
	Priority              int32
	Owner, QoS            string
	Requests              map[string]float64
}

// NodeOf returns what the page shows of a node.
func NodeOf(n *corev1.Node) Node {
	out := Node{Name: n.Name, Labels: n.Labels, Allocatable: amounts(n.Status.Allocatable), Cordoned: n.Spec.Unschedulable, Taints: []string{}, Pressure: []string{}}
	if out.Labels == nil {
		out.Labels = map[string]string{}
	}
	for _, c := range n.Status.Conditions {
		switch {
		case c.Status != corev1.ConditionTrue:
		case c.Type == corev1.NodeReady:
			out.Ready = true
		case strings.HasSuffix(string(c.Type), "Pressure"):
			out.Pressure = append(out.Pressure, string(c.Type))
		}
	}
	for _, t := range n.Spec.Taints {
		out.Taints = append(out.Taints, t.ToString())
	}
	return out
}

// PodOf returns what the page shows of a pod, and false if the pod has finished.
func PodOf(p *corev1.Pod) (Pod, bool) {
	if p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed {
		return Pod{}, false
	}
	out := Pod{Namespace: p.Namespace, Name: p.Name, Node: p.Spec.NodeName, Owner: Owner("", ""), QoS: string(p.Status.QOSClass),
		Requests: amounts(resourcehelper.PodRequests(p, resourcehelper.PodResourcesOptions{}))}
	out.Requests[string(corev1.ResourcePods)] = 1
	if p.Spec.Priority != nil {
		out.Priority = *p.Spec.Priority
	}
	if o := metav1.GetControllerOfNoCopy(p); o != nil {
		out.Owner = Owner(o.Kind, o.Name)
	}
	if out.QoS == "" {
		out.QoS = string(corev1.PodQOSBestEffort)
	}
	return out, true
}

// Owner names the controller of a pod: the Deployment instead of its ReplicaSet.
func Owner(kind, name string) string {
	if kind == "" {
		return "no owner"
	}
	if i := strings.LastIndexByte(name, '-'); kind == "ReplicaSet" {
		if i > 0 {
			name = name[:i]
		}
		return "Deployment/" + name
	}
	return kind + "/" + name
}

func amounts(list corev1.ResourceList) map[string]float64 {
	out := make(map[string]float64, len(list)+1)
	for name, q := range list {
		out[string(name)] = max(-math.MaxFloat64, min(q.AsApproximateFloat64(), math.MaxFloat64)) // JSON has no infinite numbers
	}
	return out
}
