package budgets

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/berthproject/berth/controllers/disruption"
	"github.com/berthproject/berth/engine/budget"
	"github.com/berthproject/berth/sim"
	"github.com/berthproject/berth/sim/fakeowners"
	"github.com/berthproject/berth/sim/reconciler"
	"github.com/berthproject/berth/sim/store"
)

// Ledger relates the stored budgets to the stored pods. Create it with NewLedger.
type Ledger struct {
	w         *sim.World
	workloads *disruption.Workloads                     // the stored ones
	selectors map[*metav1.LabelSelector]labels.Selector // stored objects never change
}

// NewLedger returns the ledger of a world without objects.
func NewLedger(w *sim.World, owners *fakeowners.Replacer) *Ledger {
	factory := reconciler.NewAPIFactory(w, store.ReplicaSets, store.Deployments, store.StatefulSets, store.ReplicationControllers)
	return &Ledger{w: w, workloads: disruption.NewWorkloads(factory, owners), selectors: map[*metav1.LabelSelector]labels.Selector{}}
}

// Covers reports whether a budget covers p, which may be nil.
func (l *Ledger) Covers(b *policyv1.PodDisruptionBudget, p *corev1.Pod) bool {
	if p == nil || p.Namespace != b.Namespace {
		return false
	}
	selector, ok := l.selectors[b.Spec.Selector]
	if !ok {
		var err error
		if selector, err = metav1.LabelSelectorAsSelector(b.Spec.Selector); err != nil {
			selector = labels.Nothing()
		}
		l.selectors[b.Spec.Selector] = selector
	}
	return selector.Matches(labels.Set(p.Labels))
}

// BudgetsOf returns the budgets that cover p, sorted by key.
func (l *Ledger) BudgetsOf(p *corev1.Pod) (out []*policyv1.PodDisruptionBudget) {
	for b := range store.All[*policyv1.PodDisruptionBudget](l.w.API()) {
		if l.Covers(b, p) {
			out = append(out, b)
		}
	}
	return out
}

// Pods returns the pods that a budget covers, sorted by key.
func (l *Ledger) Pods(b *policyv1.PodDisruptionBudget) (out []*corev1.Pod) {
	for p := range store.All[*corev1.Pod](l.w.API()) {
		if l.Covers(b, p) {
			out = append(out, p)
		}
	}
	return out
}

// ComputeStatus computes the status of a budget from the stored objects.
func (l *Ledger) ComputeStatus(b *policyv1.PodDisruptionBudget) budget.StatusResult {
	in := budget.StatusInputs{Budget: l.w.Converter().Budget(b), Now: l.w.Now(), Scale: l.workloads.Query(context.Background(), b.Namespace).Scale}
	for _, p := range l.Pods(b) {
		in.Pods = append(in.Pods, l.w.BudgetPod(p))
	}
	return in.ComputeStatus()
}
