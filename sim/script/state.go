package script

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"

	"github.com/berthproject/berth/sim/store"
)

// FinalState returns a line for each pod, node and budget. It omits the node of a pod and the
// number in its name, which depend on timing.
func (r *Result) FinalState() []string {
	var out []string
	api := r.Cluster.API()
	for p := range store.All[*corev1.Pod](api) {
		name, _, _ := strings.Cut(p.Name, "-r.")
		name = strings.TrimRight(name, "0123456789")
		location := "pending"
		if p.Spec.NodeName != "" {
			location = "bound"
		}
		out = append(out, fmt.Sprintf("pod %s/%s is %s, %s, deleted: %t", p.Namespace, name, location, p.Status.Phase, p.DeletionTimestamp != nil))
	}
	for n := range store.All[*corev1.Node](api) {
		var taints []string
		for _, t := range n.Spec.Taints {
			taints = append(taints, t.Key+":"+string(t.Effect))
		}
		slices.Sort(taints)
		out = append(out, fmt.Sprintf("node %s has taints %v", n.Name, taints))
	}
	for b := range store.All[*policyv1.PodDisruptionBudget](api) {
		out = append(out, fmt.Sprintf("budget %s/%s allows %d of %d", b.Namespace, b.Name, b.Status.DisruptionsAllowed, b.Status.ExpectedPods))
	}
	slices.Sort(out)
	return out
}

// checkState returns how the final state differs from want, or nil.
func (r *run) checkState(want []string) error {
	got := r.result.FinalState()
	for i := range max(len(got), len(want)) {
		switch {
		case i >= len(got) || i < len(want) && got[i] > want[i]:
			return fmt.Errorf("missing at the end: %s", want[i])
		case i >= len(want) || got[i] < want[i]:
			return fmt.Errorf("unexpected at the end: %s", got[i])
		}
	}
	return nil
}
