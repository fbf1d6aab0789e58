package main

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// The budget of the low-priority pods allows as many disruptions as there are preemptors.
const (
	budget       = "low"
	preemptors   = 30
	minAvailable = fullNodes*victims - preemptors
)

// createBudget makes the low-priority pods Running and creates a budget for them, with the status
// that the disruption controller would write.
func (c *cluster) createBudget(ctx context.Context) error {
	pods, err := c.client.CoreV1().Pods("default").List(ctx, metav1.ListOptions{LabelSelector: "app=low"})
	if err != nil {
		return err
	}
	for i := range pods.Items {
		p := &pods.Items[i]
		p.Status.Phase = corev1.PodRunning
		p.Status.StartTime = new(metav1.Now())
		p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: corev1.PodReady, Status: corev1.ConditionTrue})
		if _, err := c.client.CoreV1().Pods("default").UpdateStatus(ctx, p, metav1.UpdateOptions{}); err != nil {
			return err
		}
	}
	budgets := c.client.PolicyV1().PodDisruptionBudgets("default")
	b, err := budgets.Create(ctx, &policyv1.PodDisruptionBudget{ObjectMeta: meta(budget),
		Spec: policyv1.PodDisruptionBudgetSpec{Selector: appSelector("low"), MinAvailable: new(intstr.FromInt32(minAvailable))}}, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	total := int32(len(pods.Items))
	b.Status = policyv1.PodDisruptionBudgetStatus{ObservedGeneration: b.Generation, ExpectedPods: total, CurrentHealthy: total, DesiredHealthy: minAvailable, DisruptionsAllowed: total - minAvailable}
	_, err = budgets.UpdateStatus(ctx, b, metav1.UpdateOptions{})
	return err
}

// checkBudgetEntries checks that the budget was updated for each victim. Its controller,
// which would remove the entries, is not running.
func (c *cluster) checkBudgetEntries(ctx context.Context, f *findings, controllers *fakeControllers) error {
	b, err := c.client.PolicyV1().PodDisruptionBudgets("default").Get(ctx, budget, metav1.GetOptions{})
	if err != nil {
		return err
	}
	for name := range controllers.deleted {
		if _, ok := b.Status.DisruptedPods[name]; !ok {
			f.errorf("budget %s: its status has no entry for the victim %s", budget, name)
		}
	}
	if b.Status.DisruptionsAllowed != 0 || len(b.Status.DisruptedPods) != len(controllers.deleted) {
		f.errorf("budget %s: %d disruptions allowed and %d entries, want 0 and %d", budget, b.Status.DisruptionsAllowed, len(b.Status.DisruptedPods), len(controllers.deleted))
	}
	return nil
}
