package budgets

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"

	"github.com/berthproject/berth/engine/budget"
)

// StatusInputs returns the input of the status of a stored budget with the given pods.
func (l *Ledger) StatusInputs(b *policyv1.PodDisruptionBudget, pods []*corev1.Pod) budget.StatusInputs {
	in := budget.StatusInputs{Budget: l.w.Converter().Budget(b), Now: l.w.Now(), Scale: l.workloads.Query(context.Background(), b.Namespace).Scale}
	for _, p := range pods {
		in.Pods = append(in.Pods, l.w.BudgetPod(p))
	}
	return in
}
