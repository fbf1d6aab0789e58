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
		for _, key := range a.ledger.Affected() {
			o, _ := a.w.API().Get(store.PodDisruptionBudgets, key)
			b, ok := o.(*policyv1.PodDisruptionBudget)
			history := a.budgets[key]
			switch {
			case !ok || history == nil:
			case !a.ledger.Selects(key, old):
				history.lastIncrease = a.w.Now()
			case a.losesHealthyPod(b, old, p):
				history.lastLoss = a.w.Now()
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
	for key, history := range a.budgets {
		if slices.ContainsFunc(a.ledger.Members(key), func(q *corev1.Pod) bool {
			o := metav1.GetControllerOfNoCopy(q)
			return q.Namespace == p.Namespace && o != nil && o.UID == owner.UID
		}) {
			history.lastIncrease = a.w.Now()
		}
	}
}

// losesHealthyPod reports whether a change makes a pod unhealthy without a debit of the
// budget.
func (a *Checker) losesHealthyPod(b *policyv1.PodDisruptionBudget, old, current *corev1.Pod) bool {
	_, hasEntry := b.Status.DisruptedPods[old.Name]
	wasHealthy := store.PodReady(old) && old.DeletionTimestamp == nil && !store.Finished(old)
	return wasHealthy && !hasEntry && !(a.ledger.Selects(store.KeyOf(b), current) && store.PodReady(current) && current.DeletionTimestamp == nil && !store.Finished(current))
}

// disruptionsAllowed returns the number of disruptions that the stored state allows; it may be
// negative.
func (a *Checker) disruptionsAllowed(key string, b *policyv1.PodDisruptionBudget) int32 {
	c := a.ledger.StatusInputs(b, a.ledger.Members(key)).ComputeStatus()
	if c.Failed() || c.ExpectedPods == 0 {
		return 0
	}
	return c.CurrentHealthy - c.DesiredHealthy
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
		a.w.Fail("BudgetRespected", fmt.Sprintf("budget %s allows %d disruptions after a debit", key, b.Status.DisruptionsAllowed))
	}
	a.BudgetDebits += len(names)
	allows := a.disruptionsAllowed(key, before)
	if healthy := min(a.countHealthy(before, names), taken); healthy > max(allows, 0) && a.w.Now().Sub(history.lastLoss) > maxLag && a.w.Now().Sub(history.lastIncrease) > a.staleness() {
		a.w.Fail("BudgetRespected", fmt.Sprintf("budget %s allows %d disruptions by the stored state, but %d are debited: %v", key, allows, healthy, names))
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
		if _, hasEntry := b.Status.DisruptedPods[name]; p != nil && !hasEntry && p.DeletionTimestamp == nil && store.PodReady(p) {
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
		a.w.Fail("LowerVictims", fmt.Sprintf("pod %s of priority %d displaces %s of priority %d", preemptor.Key(), preemptor.Spec.Priority, store.KeyOf(victim), *victim.Spec.Priority))
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
	for _, key := range a.ledger.BudgetsOf(victim) {
		history := a.budgets[key]
		o, _ := a.w.API().Get(store.PodDisruptionBudgets, key)
		b, ok := o.(*policyv1.PodDisruptionBudget)
		if !ok || history == nil || a.w.Now().Sub(a.labelsChanged[victim.UID]) < a.staleness() || a.w.Now().Sub(history.lastIncrease) < a.staleness() {
			continue
		}
		refundedAt, refunded := history.refunded[victim.Name] // an actor may still rely on the refunded entry
		if _, hasEntry := b.Status.DisruptedPods[victim.Name]; !hasEntry && !(refunded && a.w.Now().Sub(refundedAt) < a.staleness()) {
			a.w.Fail("BudgetEntries", fmt.Sprintf("pod %s is displaced by %s, and budget %s has no entry for it", store.KeyOf(victim), actor, key))
		}
	}
}
