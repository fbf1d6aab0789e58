package cluster

import (
	"maps"

	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	enginedisplacement "github.com/berthproject/berth/engine/displacement"
	"github.com/berthproject/berth/sim/store"
)

// recordInBudgets adds an entry for the pod to its budgets, regardless of what they allow.
func (w *Cluster) recordInBudgets(d *displacement) error {
	for _, key := range w.budgetIndex.budgetsOf(d.pod) {
		err := w.API().Update(store.PodDisruptionBudgets, key, store.Precondition{}, func(o store.Object) error {
			b, ok := o.(*policyv1.PodDisruptionBudget)
			if _, there := b.Status.DisruptedPods[d.pod.Name]; !ok || there {
				return store.ErrUnchanged
			}
			entry := enginedisplacement.Entry{Budget: b.Name, Before: b.Status.DisruptionsAllowed, After: b.Status.DisruptionsAllowed, Overruled: b.Status.DisruptionsAllowed <= 0}
			entries := maps.Clone(b.Status.DisruptedPods)
			if entries == nil {
				entries = map[string]metav1.Time{}
			}
			entries[d.pod.Name] = metav1.NewTime(w.Now())
			b.Status.DisruptedPods = entries
			if !entry.Overruled {
				b.Status.DisruptionsAllowed--
				entry.After--
			}
			d.record.Entries = append(d.record.Entries, entry)
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}
