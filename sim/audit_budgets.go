package sim

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"

	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/scheduling"
	"github.com/berthproject/berth/sim/store"
)

// ledger is what is known of a budget.
type ledger struct {
	fell time.Time            // when somebody else last took a healthy pod from it
	rose time.Time            // when more pods were expected than before, or it was changed
	took map[string]time.Time // when an entry was taken back, by pod
}

// unseen is how long something that others did may be unknown to who displaces from a cache.
func (a *audit) unseen() time.Duration {
	return 30*time.Second + 4*(a.w.o.Lag+a.w.o.Faults.MaxDelay+a.w.o.Latency) + a.w.scheduler.reader.lag + a.w.disruption.r.lag
}

// settleLedgers notes when a commit lets a budget allow less than before. A debit does
// not; it is held against the budget by debited, before.
func (a *audit) settleLedgers(c store.Change) {
	switch c.Kind {
	case store.Budgets:
		key := keyOf(c.Object())
		old, _ := c.Old.(*policyv1.PodDisruptionBudget)
		b, ok := c.New.(*policyv1.PodDisruptionBudget)
		if !ok {
			delete(a.ledgers, key)
		} else if a.ledgers[key] == nil || old == nil || old.Generation != b.Generation {
			a.ledgers[key] = &ledger{rose: a.w.now, took: map[string]time.Time{}}
		} else {
			for name := range old.Status.DisruptedPods {
				if _, still := b.Status.DisruptedPods[name]; !still {
					a.ledgers[key].took[name] = a.w.now
				}
			}
		}
	case store.Pods:
		old, _ := c.Old.(*corev1.Pod)
		p, _ := c.New.(*corev1.Pod)
		for _, key := range a.w.touched {
			budget := a.w.cover.budgets[key]
			o, _ := a.w.api.Get(store.Budgets, key)
			b, ok := o.(*policyv1.PodDisruptionBudget)
			l := a.ledgers[key]
			switch {
			case !ok || l == nil:
			case !budget.selects(old):
				l.rose = a.w.now
			case a.worse(b, budget, old, p):
				l.fell = a.w.now
			}
		}
	case store.ReplicaSets, store.Deployments, store.StatefulSets, store.Controllers:
		for _, l := range a.ledgers {
			l.rose = a.w.now // they may want more pods than before
		}
	}
}

// worse says whether a pod is healthy no more that the budget did not let go.
func (a *audit) worse(b *policyv1.PodDisruptionBudget, budget *covered, old, now *corev1.Pod) bool {
	_, entered := b.Status.DisruptedPods[old.Name]
	counts := isReady(old) && old.DeletionTimestamp == nil && !finished(old)
	return counts && !entered && !(budget.selects(now) && isReady(now) && now.DeletionTimestamp == nil && !finished(now))
}

// allows is how many pods may leave, in truth; negative when too few are there.
func (a *audit) allows(key string, b *policyv1.PodDisruptionBudget) int32 {
	c := a.w.facts(b, a.w.cover.members(key), a.w.api.Get).Count()
	if c.Failed() || c.ExpectedPods == 0 {
		return 0
	}
	return c.CurrentHealthy - c.DesiredHealthy
}

// debited holds BudgetObeyed against a debit that is about to be committed: before it, as
// many had to be allowed as it pays for. Which pods others took within unseen the one who
// displaces could not know; how many are expected only the disruption controller knows.
func (a *audit) debited(b *policyv1.PodDisruptionBudget, paid []string, unseen time.Duration) {
	key := keyOf(b)
	l := a.ledgers[key]
	o, _ := a.w.api.Get(store.Budgets, key)
	before, ok := o.(*policyv1.PodDisruptionBudget)
	if !a.w.o.Audit || l == nil || !ok {
		return
	}
	if b.Status.DisruptionsAllowed < 0 {
		a.fail("BudgetObeyed", fmt.Sprintf("budget %s allows %d disruptions after a debit", key, b.Status.DisruptionsAllowed))
	}
	a.w.counts.Paid += len(paid)
	allows := a.allows(key, before)
	if healthy := a.healthy(before, paid); healthy > max(allows, 0) && a.w.now.Sub(l.fell) > unseen && a.w.now.Sub(l.rose) > a.unseen() {
		a.fail("BudgetObeyed", fmt.Sprintf("budget %s allows %d disruptions in truth, and %d are paid for: %v", key, allows, healthy, paid))
	}
}

// healthy is how many of the named pods count as healthy until now.
func (a *audit) healthy(b *policyv1.PodDisruptionBudget, names []string) (n int32) {
	for _, name := range names {
		p := a.w.api.Pod(store.Key(b.Namespace, name))
		if _, entered := b.Status.DisruptedPods[name]; p != nil && !entered && p.DeletionTimestamp == nil && isReady(p) {
			n++
		}
	}
	return n
}

// displaced holds LowerVictims and Booked against a preemption that is about to be done.
func (a *audit) displaced(by *model.Pod, victim *corev1.Pod, e scheduling.Preempt) {
	if !a.w.o.Audit {
		return
	}
	if p := a.w.api.Pod(by.Key()); p != nil && victim.Spec.Priority != nil && by.Spec.Priority <= *victim.Spec.Priority {
		a.fail("LowerVictims", fmt.Sprintf("pod %s of priority %d displaces %s of priority %d", by.Key(), by.Spec.Priority, keyOf(victim), *victim.Spec.Priority))
	}
	a.booked(victim, fmt.Sprintf("%s (choice %d)", by.Key(), e.Number))
	a.recorded(victim)
}

// leaves holds what must be against a displacement that is about to be done.
func (a *audit) leaves(p *corev1.Pod, d *displacement) {
	if !a.w.o.Audit {
		return
	}
	if d.obeys {
		a.booked(p, d.record.By)
	}
	a.recorded(p)
}

// booked holds that each budget over a pod has an entry for it.
func (a *audit) booked(victim *corev1.Pod, by string) {
	if !isReady(victim) {
		return // it does not count for any
	}
	for _, key := range a.w.cover.of(victim) {
		l := a.ledgers[key]
		o, _ := a.w.api.Get(store.Budgets, key)
		b, ok := o.(*policyv1.PodDisruptionBudget)
		if !ok || l == nil || a.w.now.Sub(a.labelled[victim.UID]) < a.unseen() || a.w.now.Sub(l.rose) < a.unseen() {
			continue
		}
		took, ever := l.took[victim.Name] // who saw the entry last may count on it still
		if _, entered := b.Status.DisruptedPods[victim.Name]; !entered && !(ever && a.w.now.Sub(took) < a.unseen()) {
			a.fail("Booked", fmt.Sprintf("pod %s is displaced by %s, and budget %s has no entry for it", keyOf(victim), by, key))
		}
	}
}
