package disruption

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/berthproject/berth/engine/budget"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/internal/conversion"
)

// onPod enqueues the budgets that cover or covered a pod, if a field that they read has changed.
func (c *controller) onPod(old, cur *corev1.Pod) {
	if cur != nil && conversion.DisruptionTarget(cur) != nil {
		if _, expires := c.conditionExpiry(cur, conversion.BudgetPod(cur)); expires {
			c.stalePodQueue.Add(key{Namespace: cur.Namespace, Name: cur.Name})
		}
	}
	p := cur
	if p == nil {
		p = old
	}
	budgets, err := c.budgets.PodDisruptionBudgets(p.Namespace).List(labels.Everything())
	if err != nil || len(budgets) == 0 {
		return // a list from an informer cache does not fail
	}
	before, after := budgetPodOrNil(old), budgetPodOrNil(cur)
	if before != nil && after != nil && equalForBudgets(before, after) {
		return
	}
	for _, b := range budgets {
		m := c.budgetCache.get(b)
		if before != nil && budget.Ledger.Covers(m, before) || after != nil && budget.Ledger.Covers(m, after) {
			c.budgetQueue.Add(key{Namespace: b.Namespace, Name: b.Name})
		}
	}
}

func budgetPodOrNil(p *corev1.Pod) *model.Pod {
	if p == nil {
		return nil
	}
	return conversion.BudgetPod(p)
}

// equalForBudgets reports whether two states of a pod are equal for budgets.
func equalForBudgets(a, b *model.Pod) bool {
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

// onScaleChanged enqueues the budgets of a namespace that depend on scales.
func (c *controller) onScaleChanged(namespace string) {
	budgets, err := c.budgets.PodDisruptionBudgets(namespace).List(labels.Everything())
	if err != nil {
		return
	}
	for _, b := range budgets {
		if m := c.budgetCache.get(b); m.MaxUnavailable.Set || m.MinAvailable.Percent {
			c.budgetQueue.Add(key{Namespace: b.Namespace, Name: b.Name})
		}
	}
}

// coveredPods returns the pods that a budget covers. A malformed selector covers none.
func (c *controller) coveredPods(namespace string, selector *metav1.LabelSelector) ([]*model.Pod, error) {
	s, err := metav1.LabelSelectorAsSelector(selector)
	if err != nil {
		return nil, nil
	}
	list, err := c.pods.Pods(namespace).List(s)
	if err != nil {
		return nil, err
	}
	out := make([]*model.Pod, 0, len(list))
	for _, p := range list {
		out = append(out, conversion.BudgetPod(p))
	}
	return out, nil
}
