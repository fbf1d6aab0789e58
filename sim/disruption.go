package sim

import (
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/berthproject/berth/sim/store"
)

// disruption is the actor that keeps the status of budgets, from watches of its own.
type disruption struct {
	*client
	loop *loop
}

const (
	recount  = 100 * time.Millisecond // changes so close together are counted once
	entryAge = 2 * time.Minute        // of an entry in disruptedPods whose pod did not go
)

func newDisruption(w *World) *disruption {
	d := &disruption{client: w.newClient("disruption", store.Budgets, store.Pods)}
	d.loop = newLoop(d.client, d.sync)
	d.end = d.loop.forget
	d.begin = func() { d.all(0) }
	d.see = func(k store.Kind, old, now store.Object) {
		if len(d.known[store.Budgets]) > 0 {
			d.all(recount)
		}
	}
	d.start()
	return d
}

func (d *disruption) all(wait time.Duration) {
	for _, key := range sortedKeys(d.known[store.Budgets]) {
		d.loop.add(key, wait)
	}
}

// sync writes a budget's status, if it is to change.
func (d *disruption) sync(key string, done func(time.Duration, error)) {
	b, ok := d.known[store.Budgets][key].(*policyv1.PodDisruptionBudget)
	if !ok {
		done(0, nil)
		return
	}
	next, again := d.count(b)
	was := &b.Status
	if was.DisruptionsAllowed == next.DisruptionsAllowed && was.CurrentHealthy == next.CurrentHealthy && was.DesiredHealthy == next.DesiredHealthy &&
		was.ExpectedPods == next.ExpectedPods && was.ObservedGeneration == next.ObservedGeneration && len(was.DisruptedPods) == len(next.DisruptedPods) {
		done(again, nil)
		return
	}
	d.send("status", key, func() error {
		return d.w.api.Change(store.Budgets, key, store.Precondition{UID: string(b.UID), ResourceVersion: b.ResourceVersion}, func(o store.Object) error {
			pdb, ok := o.(*policyv1.PodDisruptionBudget)
			if !ok {
				return store.ErrNothing
			}
			pdb.Status = next
			return nil
		})
	}, func(err error) { done(again, err) })
}

// count makes the status of a budget, and says when an entry of it ages out. Pods
// expected are those that are there: nobody here knows how many an owner wants.
func (d *disruption) count(b *policyv1.PodDisruptionBudget) (s policyv1.PodDisruptionBudgetStatus, again time.Duration) {
	s.ObservedGeneration = b.Generation
	selector, err := metav1.LabelSelectorAsSelector(b.Spec.Selector)
	if err != nil {
		return s, 0
	}
	entries := maps.Clone(b.Status.DisruptedPods)
	there := map[string]bool{}
	for _, o := range d.known[store.Pods] {
		p, _ := o.(*corev1.Pod)
		if p.Namespace != b.Namespace || finished(p) || !selector.Matches(labels.Set(p.Labels)) {
			continue
		}
		s.ExpectedPods++
		entry, disrupted := entries[p.Name]
		if disrupted && p.DeletionTimestamp == nil && d.w.now.Sub(entry.Time) < entryAge {
			there[p.Name] = true
			left := entryAge - d.w.now.Sub(entry.Time)
			if again == 0 || left < again {
				again = left
			}
			continue
		}
		if p.DeletionTimestamp == nil && isReady(p) {
			s.CurrentHealthy++
		}
	}
	maps.DeleteFunc(entries, func(name string, _ metav1.Time) bool { return !there[name] })
	if len(entries) > 0 {
		s.DisruptedPods = entries
	}
	s.DesiredHealthy = desired(b, s.ExpectedPods)
	if s.ExpectedPods > 0 {
		s.DisruptionsAllowed = max(s.CurrentHealthy-s.DesiredHealthy, 0)
	}
	return s, again
}

func desired(b *policyv1.PodDisruptionBudget, expected int32) int32 {
	if m := b.Spec.MaxUnavailable; m != nil {
		n, _ := intstr.GetScaledValueFromIntOrPercent(m, int(expected), true)
		return max(expected-int32(n), 0)
	}
	if m := b.Spec.MinAvailable; m != nil {
		n, _ := intstr.GetScaledValueFromIntOrPercent(m, int(expected), true)
		return int32(n)
	}
	return 0
}

func isReady(p *corev1.Pod) bool {
	for i := range p.Status.Conditions {
		if c := &p.Status.Conditions[i]; c.Type == corev1.PodReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}
