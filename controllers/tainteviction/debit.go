package tainteviction

import (
	"cmp"
	"context"
	"hash/fnv"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	policylisters "k8s.io/client-go/listers/policy/v1"

	"github.com/berthproject/berth/controllers/runner"
	"github.com/berthproject/berth/engine/budget"
	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/internal/contextlock"
	"github.com/berthproject/berth/internal/conversion"
	"github.com/berthproject/berth/internal/displacer"
)

// budgetDebiter debits the disruption budgets that taint evictions overrule, so that other actors
// do not count on a pod that is about to be deleted.
type budgetDebiter struct {
	budgets policylisters.PodDisruptionBudgetLister
	// namespaceLocks serialize the debits of a namespace. All pods of a node are evicted at once and would conflict.
	namespaceLocks [32]namespaceLock
}

type namespaceLock struct {
	contextlock.Lock
	converter *conversion.Converter
}

func newBudgetDebiter(p *runner.Process) *budgetDebiter {
	b := &budgetDebiter{budgets: p.Informers.Policy().V1().PodDisruptionBudgets().Lister()}
	for i := range b.namespaceLocks {
		b.namespaceLocks[i] = namespaceLock{p.NewLock(), conversion.New()}
	}
	return b
}

// displace displaces a pod and debits its budgets if the pod counts as healthy.
func (b *budgetDebiter) displace(ctx context.Context, d Displacer, x displacer.Displacement) error {
	if !isHealthy(x.Pod) {
		return d.Displace(ctx, x)
	}
	h := fnv.New32a()
	_, _ = h.Write([]byte(x.Pod.Namespace))
	lock := &b.namespaceLocks[h.Sum32()%uint32(len(b.namespaceLocks))]
	if err := lock.Lock.Lock(ctx); err != nil {
		return err
	}
	defer lock.Unlock()
	x.Debits = b.debitsFor(lock.converter, x.Pod)
	return d.Displace(ctx, x)
}

// isHealthy reports whether a pod counts as healthy for budgets. Pods of unresponsive nodes do not.
func isHealthy(p *corev1.Pod) bool {
	m := conversion.BudgetPod(p)
	return m.Ready && !m.Deleting && !m.Finished()
}

// debitsFor returns the budgets that cover a pod, sorted by name.
func (b *budgetDebiter) debitsFor(converter *conversion.Converter, p *corev1.Pod) (out []decision.Debit) {
	list, _ := b.budgets.PodDisruptionBudgets(p.Namespace).List(labels.Everything()) // listing from a cache cannot fail
	m := conversion.BudgetPod(p)
	for _, pdb := range list {
		if converted := converter.Budget(pdb); budget.Ledger.Covers(converted, m) {
			out = append(out, decision.Debit{Budget: converted, Overruled: []string{p.Name}})
		}
	}
	slices.SortFunc(out, func(a, b decision.Debit) int { return cmp.Compare(a.Budget.Name, b.Budget.Name) })
	return out
}
