package tainteviction

import (
	"cmp"
	"context"
	"hash/maphash"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	policylisters "k8s.io/client-go/listers/policy/v1"

	"github.com/berthproject/berth/engine/budget"
	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/executor"
	"github.com/berthproject/berth/internal/conversion"
)

// budgetDebiter books evictions in the disruption budgets that they overrule, so that who obeys
// them does not count on a pod that is about to go.
type budgetDebiter struct {
	budgets policylisters.PodDisruptionBudgetLister
	seed    maphash.Seed
	// namespaceLocks let one pod of a namespace be booked at a time: all of a node's go at once, and would be in each other's way.
	namespaceLocks [32]namespaceLock
}

type namespaceLock struct {
	sync.Mutex
	converter *conversion.Converter
}

func newBudgetDebiter(budgets policylisters.PodDisruptionBudgetLister) *budgetDebiter {
	b := &budgetDebiter{budgets: budgets, seed: maphash.MakeSeed()}
	for i := range b.namespaceLocks {
		b.namespaceLocks[i].converter = conversion.New()
	}
	return b
}

// displace displaces a pod, and books it where it counts as healthy until now.
func (b *budgetDebiter) displace(ctx context.Context, d Displacer, x executor.Displacement) error {
	if !isHealthy(x.Pod) {
		return d.Displace(ctx, x)
	}
	lock := &b.namespaceLocks[maphash.String(b.seed, x.Pod.Namespace)%uint64(len(b.namespaceLocks))]
	lock.Lock()
	defer lock.Unlock()
	x.Debits, x.Overrule = b.debitsFor(lock.converter, x.Pod), true
	return d.Displace(ctx, x)
}

// isHealthy says whether a pod counts for budgets until now. Those of a lost node do not.
func isHealthy(p *corev1.Pod) bool {
	m := conversion.BudgetPod(p)
	return m.Ready && !m.Deleting && !m.Finished()
}

// debitsFor are the budgets over a pod, in the order of their names.
func (b *budgetDebiter) debitsFor(in *conversion.Converter, p *corev1.Pod) (out []decision.Debit) {
	list, _ := b.budgets.PodDisruptionBudgets(p.Namespace).List(labels.Everything()) // of a cache: it does not fail
	m := conversion.BudgetPod(p)
	for _, pdb := range list {
		if is := in.Budget(pdb); budget.Ledger.Covers(is, m) {
			out = append(out, decision.Debit{Budget: is, Overruled: []string{p.Name}})
		}
	}
	slices.SortFunc(out, func(a, b decision.Debit) int { return cmp.Compare(a.Budget.Name, b.Budget.Name) })
	return out
}
