package disruption

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/berthproject/berth/engine/budget"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/internal/intake"
)

// podChanged queues the budgets that cover a pod, or did, if what they read of it has changed.
func (d *disruption) podChanged(old, now *corev1.Pod) {
	if now != nil && hasMark(now) {
		if _, ends := d.ends(now, intake.Standing(now)); ends {
			d.marks.Add(key{Namespace: now.Namespace, Name: now.Name})
		}
	}
	there := now
	if there == nil {
		there = old
	}
	budgets, err := d.budgets.PodDisruptionBudgets(there.Namespace).List(labels.Everything())
	if err != nil || len(budgets) == 0 {
		return // an informer's list has no errors
	}
	was, is := standing(old), standing(now)
	if was != nil && is != nil && sameToBudgets(was, is) {
		return
	}
	for _, b := range budgets {
		m := d.compiled.of(b)
		if was != nil && budget.Ledger.Covers(m, was) || is != nil && budget.Ledger.Covers(m, is) {
			d.count.Add(key{Namespace: b.Namespace, Name: b.Name})
		}
	}
}

func standing(p *corev1.Pod) *model.Pod {
	if p == nil {
		return nil
	}
	return intake.Standing(p)
}

// sameToBudgets says whether two states of a pod count alike.
func sameToBudgets(a, b *model.Pod) bool {
	if a.UID != b.UID || a.Ready != b.Ready || a.Deleting != b.Deleting || a.Phase != b.Phase || a.Owner != b.Owner || len(a.Labels) != len(b.Labels) {
		return false
	}
	for i := range a.Labels {
		if a.Labels[i] != b.Labels[i] {
			return false
		}
	}
	return true
}

// namespaceChanged queues the budgets of a namespace that count by what controllers want.
func (d *disruption) namespaceChanged(namespace string) {
	budgets, err := d.budgets.PodDisruptionBudgets(namespace).List(labels.Everything())
	if err != nil {
		return
	}
	for _, b := range budgets {
		if m := d.compiled.of(b); m.MaxUnavailable.Set || m.MinAvailable.Percent {
			d.count.Add(key{Namespace: b.Namespace, Name: b.Name})
		}
	}
}

// covered are the pods under a budget; a selector that cannot be read covers none.
func (d *disruption) covered(namespace string, selector *metav1.LabelSelector) ([]*model.Pod, error) {
	s, err := metav1.LabelSelectorAsSelector(selector)
	if err != nil {
		return nil, nil
	}
	list, err := d.pods.Pods(namespace).List(s)
	if err != nil {
		return nil, err
	}
	out := make([]*model.Pod, 0, len(list))
	for _, p := range list {
		out = append(out, intake.Standing(p))
	}
	return out, nil
}
