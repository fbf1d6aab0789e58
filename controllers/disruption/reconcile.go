package disruption

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"github.com/berthproject/berth/engine/budget"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/internal/apierror"
	"github.com/berthproject/berth/internal/budgetstatus"
)

// reconcileBudget computes the status of a budget and writes it if it has changed.
func (c *controller) reconcileBudget(ctx context.Context, k key) (time.Duration, error) {
	b, err := c.budgets.PodDisruptionBudgets(k.Namespace).Get(k.Name)
	if apierrors.IsNotFound(err) {
		c.pruneDeleted()
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	pods, err := c.coveredPods(b.Namespace, b.Spec.Selector)
	if err != nil {
		return 0, err
	}
	now := c.now()
	query := c.workloads.Query(ctx, b.Namespace)
	result := budget.StatusInputs{Budget: c.budgetCache.get(b), Pods: pods, Scale: query.Scale, Now: now}.ComputeStatus()
	c.recordEvents(b, result.Events)
	if err := c.updateStatus(ctx, b, &result, now); err != nil {
		return 0, err
	}
	if result.Failed() && query.err != nil {
		return 0, query.err // the error may be transient
	}
	if result.Failed() {
		return retryInterval, nil
	}
	return result.RequeueAfter, nil
}

// updateStatus writes a computed status. A deleted budget is no error.
func (c *controller) updateStatus(ctx context.Context, b *policyv1.PodDisruptionBudget, result *budget.StatusResult, now time.Time) error {
	status := budgetstatus.FromResult(&b.Status, result, now)
	if equality.Semantic.DeepEqual(&b.Status, &status) {
		return nil
	}
	changed := b.DeepCopy()
	changed.Status = status
	_, err := c.client.PolicyV1().PodDisruptionBudgets(b.Namespace).UpdateStatus(ctx, changed, metav1.UpdateOptions{})
	return apierror.IgnoreNotFound(err)
}

// recordEvents records the events of a computation unless they equal those of the last one.
func (c *controller) recordEvents(b *policyv1.PodDisruptionBudget, events []budget.Event) {
	formatted := fmt.Sprint(events)
	c.mu.Lock()
	previous := c.lastEvents[b.UID]
	c.lastEvents[b.UID] = formatted
	c.mu.Unlock()
	if formatted == previous {
		return
	}
	for _, e := range events {
		eventType := corev1.EventTypeNormal
		if e.Warning {
			eventType = corev1.EventTypeWarning
		}
		if e.Pod != nil {
			c.events.Event(podReference(e.Pod), eventType, e.Reason, e.Note)
			continue
		}
		c.events.Event(b, eventType, e.Reason, e.Note)
	}
}

func podReference(p *model.Pod) *corev1.ObjectReference {
	return &corev1.ObjectReference{APIVersion: "v1", Kind: "Pod", Namespace: p.Namespace, Name: p.Name, UID: types.UID(p.UID), ResourceVersion: p.ResourceVersion}
}

// pruneDeleted drops cached data of deleted budgets.
func (c *controller) pruneDeleted() {
	existing, err := c.budgets.List(labels.Everything())
	if err != nil {
		return
	}
	c.budgetCache.retain(existing)
	c.mu.Lock()
	defer c.mu.Unlock()
	retained := make(map[types.UID]string, len(existing))
	for _, b := range existing {
		if text, ok := c.lastEvents[b.UID]; ok {
			retained[b.UID] = text
		}
	}
	c.lastEvents = retained
}
