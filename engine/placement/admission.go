package placement

import (
	"fmt"
	"slices"

	"github.com/berthproject/berth/engine/cluster"
	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/placement/plugins"
)

// AdmissionResult is one reason why a node rejects a pod, as the kubelet writes it to the pod's status.
type AdmissionResult struct {
	Reason, Message string
	// Resource is the insufficient resource and Missing the missing amount (thousandths of a
	// core, bytes or counts), if that is the reason.
	Resource string
	Missing  int64
}

// AdmissionCheck runs the checks of the kubelet on a pod that is bound to a node, in the kubelet's
// order. They are resources, NodeAffinity, NodeName, NodePorts and NoExecute taints. n must not
// include the pod. As in the kubelet, extended resources that the node does not have are ignored,
// and taints do not affect mirror pods.
func AdmissionCheck(n *cluster.NodeInfo, pod *model.Pod) (out []AdmissionResult) {
	for _, r := range insufficientResources(n, pod) {
		out = append(out, AdmissionResult{
			Reason:   "OutOf" + r.Subject,
			Message:  fmt.Sprintf("Node didn't have enough resource: %s, requested: %d, used: %d, capacity: %d", r.Subject, r.Want, r.Used, r.Have),
			Resource: r.Subject, Missing: r.Want - (r.Have - r.Used),
		})
	}
	predicate := func(name, reason string) {
		out = append(out, AdmissionResult{Reason: name, Message: "Predicate " + name + " failed: " + reason})
	}
	if _, ok := plugins.MatchesNodeSelector(&pod.Spec.NodeSelector, n.Model); !ok {
		predicate("NodeAffinity", "node(s) didn't match Pod's node affinity/selector")
	}
	if pod.NodeName != "" && pod.NodeName != n.Model.Name {
		predicate("NodeName", "node(s) didn't match the requested node name")
	}
	for i := range pod.Spec.Ports {
		if plugins.PortConflict(n.Ports, &pod.Spec.Ports[i]) {
			predicate("NodePorts", "node(s) didn't have free ports for the requested pod ports")
			break
		}
	}
	if !pod.Mirror && slices.ContainsFunc(n.Model.Taints, func(t model.Taint) bool { return t.Effect == model.NoExecute && !toleratesTaint(pod.Spec, &t) }) {
		predicate("TaintToleration", "node(s) had taints that the pod didn't tolerate")
	}
	return out
}

// insufficientResources returns the resources that the node lacks for the pod.
func insufficientResources(n *cluster.NodeInfo, pod *model.Pod) []decision.Reason {
	var v decision.Verdict
	requested, allocatable := &pod.Spec.Requests, &n.Model.Allocatable
	plugins.AddInsufficient(&v, "pods", 1, int64(len(n.Pods)), n.Model.AllocatablePods)
	plugins.AddInsufficient(&v, "cpu", requested.MilliCPU, n.Used.MilliCPU, allocatable.MilliCPU)
	plugins.AddInsufficient(&v, "memory", requested.Memory, n.Used.Memory, allocatable.Memory)
	plugins.AddInsufficient(&v, "ephemeral-storage", requested.Ephemeral, n.Used.Ephemeral, allocatable.Ephemeral)
	for i := range requested.Scalars {
		s := &requested.Scalars[i]
		if model.IsExtendedResource(s.Name) && !slices.ContainsFunc(allocatable.Scalars, func(h model.Scalar) bool { return h.Name == s.Name }) {
			continue
		}
		plugins.AddInsufficient(&v, s.Name, s.Amount, n.Used.Scalar(s.Name), allocatable.Scalar(s.Name))
	}
	return v.Reasons
}

// toleratesTaint reports whether pods of the specification tolerate a taint, for any duration.
func toleratesTaint(spec *model.PodSpec, t *model.Taint) bool {
	return slices.ContainsFunc(spec.Tolerations, func(tol model.Toleration) bool { return tol.ToleratesTaint(t, false) })
}
