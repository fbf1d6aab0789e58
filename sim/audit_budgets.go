package sim

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/scheduling"
	"github.com/berthproject/berth/sim/store"
)

// ledger is what is true of a budget, counted from the store itself.
type ledger struct {
	selector labels.Selector
	allows   int32     // now
	fell     time.Time // when it last became less by somebody else's doing
}

// selects says whether an object is there and under the budget. A pod that is relabelled
// was under it until now.
func (l *ledger) selects(o store.Object) bool {
	return o != nil && l.selector.Matches(labels.Set(o.GetLabels()))
}

// unseen is how long something that others did may be unknown to who displaces.
func (a *audit) unseen() time.Duration {
	return 30*time.Second + 4*(a.w.o.Lag+a.w.o.Faults.MaxDelay+a.w.o.Latency) + a.w.scheduler.reader.lag + a.w.disruption.r.lag
}

// settleLedgers counts budgets again that a commit concerns. What falls is the
// doing of others: a debit is settled by debited, before.
func (a *audit) settleLedgers(c store.Change) {
	switch c.Kind {
	case store.Budgets:
		key := keyOf(c.Object())
		b, ok := c.New.(*policyv1.PodDisruptionBudget)
		if c.New == nil || !ok {
			delete(a.ledgers, key)
			return
		}
		l := a.ledgers[key]
		if old, _ := c.Old.(*policyv1.PodDisruptionBudget); l == nil || old == nil || old.Generation != b.Generation {
			selector, err := metav1.LabelSelectorAsSelector(b.Spec.Selector)
			if err != nil {
				return
			}
			a.ledgers[key] = &ledger{selector: selector, allows: a.allows(b, selector), fell: a.w.now}
			return
		}
		l.allows = a.allows(b, l.selector)
	case store.Pods:
		for _, key := range sortedKeys(a.ledgers) {
			a.recount(key, c)
		}
	}
}

func (a *audit) recount(key string, c store.Change) {
	l := a.ledgers[key]
	o, _ := a.w.api.Get(store.Budgets, key)
	b, ok := o.(*policyv1.PodDisruptionBudget)
	if !ok || b.Namespace != c.Object().GetNamespace() || !l.selects(c.Old) && !l.selects(c.New) {
		return
	}
	n := a.allows(b, l.selector)
	if _, entered := b.Status.DisruptedPods[c.Object().GetName()]; n < l.allows && !entered {
		l.fell = a.w.now
	}
	l.allows = n
}

// allows is how many pods may leave, in truth; negative when too few are there.
func (a *audit) allows(b *policyv1.PodDisruptionBudget, selector labels.Selector) int32 {
	var expected, healthy int32
	for _, o := range a.w.api.List(store.Pods) {
		p, ok := o.(*corev1.Pod)
		if !ok || p.Namespace != b.Namespace || finished(p) || !selector.Matches(labels.Set(p.Labels)) {
			continue
		}
		expected++
		if _, entered := b.Status.DisruptedPods[p.Name]; !entered && p.DeletionTimestamp == nil && isReady(p) {
			healthy++
		}
	}
	return healthy - desired(b, expected)
}

// debited holds BudgetObeyed against a debit that is about to be committed: before it, as
// many had to be allowed as it pays for. What others did a moment ago nobody could know.
func (a *audit) debited(b *policyv1.PodDisruptionBudget, paid []string) {
	l := a.ledgers[keyOf(b)]
	if !a.w.o.Audit || l == nil {
		return
	}
	if b.Status.DisruptionsAllowed < 0 {
		a.fail("BudgetObeyed", fmt.Sprintf("budget %s allows %d disruptions after a debit", keyOf(b), b.Status.DisruptionsAllowed))
	}
	if healthy := a.healthy(b, paid); healthy > max(l.allows, 0) && a.w.now.Sub(l.fell) > a.unseen() {
		a.fail("BudgetObeyed", fmt.Sprintf("budget %s allows %d disruptions in truth, and %d are paid for: %v", keyOf(b), l.allows, healthy, paid))
	}
}

// healthy is how many of the named pods count as healthy until now.
func (a *audit) healthy(b *policyv1.PodDisruptionBudget, names []string) (n int32) {
	o, _ := a.w.api.Get(store.Budgets, keyOf(b))
	before, ok := o.(*policyv1.PodDisruptionBudget)
	if !ok {
		return 0
	}
	for _, name := range names {
		p := a.w.api.Pod(store.Key(b.Namespace, name))
		if _, entered := before.Status.DisruptedPods[name]; p != nil && !entered && p.DeletionTimestamp == nil && isReady(p) {
			n++
		}
	}
	return n
}

// displaced holds LowerVictims and Booked against a deletion that is about to be done.
func (a *audit) displaced(by *model.Pod, victim *corev1.Pod, e scheduling.Preempt) {
	if !a.w.o.Audit {
		return
	}
	if p := a.w.api.Pod(by.Key()); p != nil && victim.Spec.Priority != nil && by.Spec.Priority <= *victim.Spec.Priority {
		a.fail("LowerVictims", fmt.Sprintf("pod %s of priority %d displaces %s of priority %d", by.Key(), by.Spec.Priority, keyOf(victim), *victim.Spec.Priority))
	}
	for _, key := range sortedKeys(a.ledgers) {
		l := a.ledgers[key]
		o, _ := a.w.api.Get(store.Budgets, key)
		b, ok := o.(*policyv1.PodDisruptionBudget)
		young := a.w.now.Sub(a.labelled[victim.UID]) < a.unseen() || a.w.now.Sub(l.fell) < a.unseen()
		if !ok || young || b.Namespace != victim.Namespace || !l.selector.Matches(labels.Set(victim.Labels)) {
			continue
		}
		if _, entered := b.Status.DisruptedPods[victim.Name]; !entered {
			a.fail("Booked", fmt.Sprintf("pod %s is displaced by %s (choice %d), and budget %s has no entry for it", keyOf(victim), by.Key(), e.Number, key))
		}
	}
}
