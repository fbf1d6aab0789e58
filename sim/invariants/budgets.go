package invariants

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	enginedisplacement "github.com/berthproject/berth/engine/displacement"
	"github.com/berthproject/berth/engine/scheduling"
	"github.com/berthproject/berth/sim/store"
)

// budgetHistory is the recent history of a budget.
type budgetHistory struct {
	lastLoss     time.Time            // last loss of a healthy pod not caused by a debit
	lastIncrease time.Time            // last increase of the expected pods, or change of the budget
	refunded     map[string]time.Time // when an entry was refunded, by pod
}

// staleness returns the maximum time until an actor that decides by its cache has observed a change.
func (a *Checker) staleness() time.Duration {
	return 30*time.Second + 4*(a.w.Options().Lag+a.w.Options().Faults.MaxDelay+a.w.Latency()) + a.w.WatchLag("scheduler") + a.w.WatchLag("disruption")
}

// updateBudgetHistory records commits that let a budget allow fewer disruptions. Debits are
// checked by checkDebit instead.
func (a *Checker) updateBudgetHistory(c store.Change) {
	switch c.Kind {
	case store.PodDisruptionBudgets:
		key := store.KeyOf(c.Object())
		old, _ := c.Old.(*policyv1.PodDisruptionBudget)
		b, ok := c.New.(*policyv1.PodDisruptionBudget)
		switch {
		case !ok:
			delete(a.budgets, key)
		case a.budgets[key] == nil || old == nil || old.Generation != b.Generation:
			a.budgets[key] = &budgetHistory{lastIncrease: a.w.Now(), refunded: map[string]time.Time{}}
		default:
			a.checkDebit(old, b)
			for name := range old.Status.DisruptedPods {
				if _, exists := b.Status.DisruptedPods[name]; !exists {
					a.budgets[key].refunded[name] = a.w.Now()
				}
			}
		}
	case store.Pods:
		old, _ := c.Old.(*corev1.Pod)
		p, _ := c.New.(*corev1.Pod)
		if old == nil && hasFakeOwner(p) {
			a.noteScaleIncrease(p)
		}
		for b := range store.All[*policyv1.PodDisruptionBudget](a.w.API()) {
			covered, covers := a.o.Ledger.Covers(b, old), a.o.Ledger.Covers(b, p)
			history := a.budgets[store.KeyOf(b)]
			_, hasEntry := b.Status.DisruptedPods[c.Object().GetName()]
			switch {
			case history == nil:
			case !covered && covers:
				history.lastIncrease = a.w.Now()
			case covered && isHealthy(old) && !hasEntry && !(covers && isHealthy(p)):
				history.lastLoss = a.w.Now() // without a debit
			}
		}
	case store.ReplicaSets, store.Deployments, store.StatefulSets, store.ReplicationControllers:
		for _, history := range a.budgets {
			history.lastIncrease = a.w.Now() // the budgets may require more pods
		}
	}
}

// noteScaleIncrease records that a new pod increases the scale of its owner. This increases the expected pods of budgets
// that select other pods of the owner.
func (a *Checker) noteScaleIncrease(p *corev1.Pod) {
	owner := metav1.GetControllerOfNoCopy(p)
	for q := range store.All[*corev1.Pod](a.w.API()) {
		if o := metav1.GetControllerOfNoCopy(q); q.Namespace != p.Namespace || o == nil || o.UID != owner.UID {
			continue
		}
		for _, b := range a.o.Ledger.BudgetsOf(q) {
			if history := a.budgets[store.KeyOf(b)]; history != nil {
				history.lastIncrease = a.w.Now()
			}
		}
	}
}

func isHealthy(p *corev1.Pod) bool {
	return store.PodReady(p) && p.DeletionTimestamp == nil && !store.Finished(p)
}

// disruptionsAllowed returns the number of disruptions that the stored pods allow; it may be negative.
func (a *Checker) disruptionsAllowed(b *policyv1.PodDisruptionBudget) int32 {
	c := a.o.Ledger.ComputeStatus(b)
	if c.Failed() || c.ExpectedPods == 0 {
		return 0
	}
	return c.CurrentHealthy - c.DesiredHealthy
}

// refusesDisruption reports whether a budget allows no disruption.
func (a *Checker) refusesDisruption(b *policyv1.PodDisruptionBudget) bool {
	return a.disruptionsAllowed(b) <= 0
}

// checkDebit checks the invariant BudgetRespected for an update of a budget by the scheduler or the API server: the
// budget must allow as many disruptions as are debited. It ignores changes that the displacing actor may not have observed.
// The scheduler decides by its cache, the API server by the store.
func (a *Checker) checkDebit(before, b *policyv1.PodDisruptionBudget) {
	names, taken := newEntries(before, b), before.Status.DisruptionsAllowed-b.Status.DisruptionsAllowed
	maxLag := 2 * a.w.Latency()
	switch a.w.Requester() {
	case "scheduler":
		maxLag = a.staleness()
	case "apiserver":
	default:
		return
	}
	if len(names) == 0 {
		return
	}
	key := store.KeyOf(b)
	history := a.budgets[key]
	if b.Status.DisruptionsAllowed < 0 {
		a.failf("BudgetRespected", "budget %s allows %d disruptions after a debit", key, b.Status.DisruptionsAllowed)
	}
	a.BudgetDebits += len(names)
	allows := a.disruptionsAllowed(before)
	if healthy := min(a.countHealthy(before, names), taken); healthy > max(allows, 0) && a.since(history.lastLoss) > maxLag && a.since(history.lastIncrease) > a.staleness() {
		a.failf("BudgetRespected", "budget %s allows %d disruptions by the stored state, but %d are debited: %v", key, allows, healthy, names)
	}
}

// newEntries returns the names of the pods whose entries an update of a budget adds or renews, sorted.
func newEntries(before, b *policyv1.PodDisruptionBudget) (names []string) {
	for name, at := range b.Status.DisruptedPods {
		if old, exists := before.Status.DisruptedPods[name]; !exists || !old.Time.Equal(at.Time) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// countHealthy returns the number of the named pods that are healthy and have no entry in b.
func (a *Checker) countHealthy(b *policyv1.PodDisruptionBudget, names []string) (n int32) {
	for _, name := range names {
		p := a.w.API().Pod(store.Key(b.Namespace, name))
		if _, hasEntry := b.Status.DisruptedPods[name]; p != nil && !hasEntry && isHealthy(p) {
			n++
		}
	}
	return n
}

// checkPreemption checks a preemption before it is committed.
func (a *Checker) checkPreemption(e scheduling.Preempt, victim *corev1.Pod) {
	preemptor := e.Pod
	if !a.o.All {
		return
	}
	if p := a.w.API().Pod(preemptor.Key()); p != nil && victim.Spec.Priority != nil && preemptor.Spec.Priority <= *victim.Spec.Priority {
		a.failf("LowerVictims", "pod %s of priority %d displaces %s of priority %d", preemptor.Key(), preemptor.Spec.Priority, store.KeyOf(victim), *victim.Spec.Priority)
	}
	a.checkBudgetEntries(victim, fmt.Sprintf("%s (choice %d)", preemptor.Key(), e.Choice))
	a.checkDisplacedOnce(victim)
}

// checkEviction checks an eviction before it is committed.
func (a *Checker) checkEviction(r *enginedisplacement.Record, p *corev1.Pod) {
	if a.o.All {
		a.checkBudgetEntries(p, r.Requester)
		a.checkDisplacedOnce(p)
	}
}

// checkBudgetEntries checks that each budget of a displaced pod has an entry for it.
func (a *Checker) checkBudgetEntries(victim *corev1.Pod, actor string) {
	if !store.PodReady(victim) {
		return // unhealthy pods do not count
	}
	for _, b := range a.o.Ledger.BudgetsOf(victim) {
		history := a.budgets[store.KeyOf(b)]
		if history == nil || a.since(a.labelsChanged[victim.UID]) < a.staleness() || a.since(history.lastIncrease) < a.staleness() {
			continue
		}
		refundedAt, refunded := history.refunded[victim.Name] // an actor may still rely on the refunded entry
		if _, hasEntry := b.Status.DisruptedPods[victim.Name]; !hasEntry && !(refunded && a.since(refundedAt) < a.staleness()) {
			a.failf("BudgetEntries", "pod %s is displaced by %s, and budget %s has no entry for it", store.KeyOf(victim), actor, store.KeyOf(b))
		}
	}
}
