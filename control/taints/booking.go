package taints

import (
	"cmp"
	"context"
	"hash/maphash"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	policylisters "k8s.io/client-go/listers/policy/v1"

	"github.com/berthproject/berth/actuate"
	"github.com/berthproject/berth/engine/budget"
	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/internal/intake"
)

// booking books evictions in the disruption budgets that they overrule, so that who obeys
// them does not count on a pod that is about to go.
type booking struct {
	budgets policylisters.PodDisruptionBudgetLister
	seed    maphash.Seed
	// turns let one pod of a namespace be booked at a time: all of a node's go at once, and would be in each other's way.
	turns [32]turn
}

type turn struct {
	sync.Mutex
	intake *intake.Intake
}

func newBooking(budgets policylisters.PodDisruptionBudgetLister) *booking {
	b := &booking{budgets: budgets, seed: maphash.MakeSeed()}
	for i := range b.turns {
		b.turns[i].intake = intake.New()
	}
	return b
}

// displace displaces a pod, and books it where it counts as healthy until now.
func (b *booking) displace(ctx context.Context, d Displacer, x actuate.Displacement) error {
	if !healthy(x.Pod) {
		return d.Displace(ctx, x)
	}
	turn := &b.turns[maphash.String(b.seed, x.Pod.Namespace)%uint64(len(b.turns))]
	turn.Lock()
	defer turn.Unlock()
	x.Debits, x.Overrule = b.debits(turn.intake, x.Pod), true
	return d.Displace(ctx, x)
}

// healthy says whether a pod counts for budgets until now. Those of a lost node do not.
func healthy(p *corev1.Pod) bool {
	m := intake.Standing(p)
	return m.Ready && !m.Deleting && !m.Finished()
}

// debits are the budgets over a pod, in the order of their names.
func (b *booking) debits(in *intake.Intake, p *corev1.Pod) (out []decision.Debit) {
	list, _ := b.budgets.PodDisruptionBudgets(p.Namespace).List(labels.Everything()) // of a cache: it does not fail
	m := intake.Standing(p)
	for _, pdb := range list {
		if is := in.Budget(pdb); budget.Ledger.Covers(is, m) {
			out = append(out, decision.Debit{Budget: is, Overruled: []string{p.Name}})
		}
	}
	slices.SortFunc(out, func(a, b decision.Debit) int { return cmp.Compare(a.Budget.Name, b.Budget.Name) })
	return out
}
