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
	w       *World
	r       *reader
	pods    map[string]*corev1.Pod // by key
	budgets map[string]*policyv1.PodDisruptionBudget
	dirty   bool
}

const (
	recount  = 100 * time.Millisecond // changes so close together are counted once
	entryAge = 2 * time.Minute        // of an entry in disruptedPods whose pod did not go
)

func newDisruption(w *World) *disruption {
	d := &disruption{w: w}
	d.r = w.newReader("disruption", store.Budgets, store.Pods)
	d.r.see = d.see
	d.r.replace = func(k store.Kind, list []store.Object) {
		if k == store.Pods {
			d.pods = map[string]*corev1.Pod{}
		} else {
			d.budgets = map[string]*policyv1.PodDisruptionBudget{}
		}
		for _, o := range list {
			d.see(store.Change{Kind: k, New: o})
		}
	}
	d.start()
	return d
}

func (d *disruption) start() {
	d.pods, d.budgets = map[string]*corev1.Pod{}, map[string]*policyv1.PodDisruptionBudget{}
	d.r.begin()
}

func (d *disruption) see(c store.Change) {
	key := keyOf(c.Object())
	switch o := c.Object().(type) {
	case *corev1.Pod:
		if d.pods[key] = o; c.New == nil {
			delete(d.pods, key)
		}
	case *policyv1.PodDisruptionBudget:
		if d.budgets[key] = o; c.New == nil {
			delete(d.budgets, key)
		}
	}
	if len(d.budgets) > 0 {
		d.soon(recount)
	}
}

func (d *disruption) soon(wait time.Duration) {
	if d.dirty {
		return
	}
	d.dirty = true
	d.w.after(wait, func() {
		d.dirty = false
		for _, key := range sortedKeys(d.budgets) {
			d.sync(d.budgets[key])
		}
	})
}

// sync writes a budget's status, if it is to change.
func (d *disruption) sync(b *policyv1.PodDisruptionBudget) {
	next, again := d.count(b)
	if again > 0 {
		d.w.after(again, func() { d.soon(0) })
	}
	was := &b.Status
	if was.DisruptionsAllowed == next.DisruptionsAllowed && was.CurrentHealthy == next.CurrentHealthy && was.DesiredHealthy == next.DesiredHealthy &&
		was.ExpectedPods == next.ExpectedPods && was.ObservedGeneration == next.ObservedGeneration && len(was.DisruptedPods) == len(next.DisruptedPods) {
		return
	}
	// A conflict means that the watch is behind; it will bring the cause to count again.
	_ = d.w.api.Change(store.Budgets, keyOf(b), store.Precondition{UID: string(b.UID), ResourceVersion: b.ResourceVersion}, func(o store.Object) error {
		pdb, ok := o.(*policyv1.PodDisruptionBudget)
		if !ok {
			return store.ErrNothing
		}
		pdb.Status = next
		return nil
	})
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
	for _, p := range d.pods {
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
