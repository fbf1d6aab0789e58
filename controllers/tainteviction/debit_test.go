package tainteviction

import (
	"context"
	"fmt"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/berthproject/berth/controllers/runner/runnertest"
	"github.com/berthproject/berth/engine/displacement"
	"github.com/berthproject/berth/internal/displacer"
)

// recordingDisplacer records the requested debits.
type recordingDisplacer struct{ debits []string }

func (r *recordingDisplacer) Displace(_ context.Context, x displacer.Displacement) error {
	for _, d := range x.Debits {
		r.debits = append(r.debits, fmt.Sprintf("%s %v %v", d.Budget.Name, d.Overruled, x.Cause.Policy().Overrules(1)))
	}
	return nil
}

// TestEvictionsDebitBudgets checks that a healthy pod is debited in every budget that covers it, in name order.
func TestEvictionsDebitBudgets(t *testing.T) {
	everything := &metav1.LabelSelector{}
	p := runnertest.NewProcess(&runnertest.Queues{})
	p.Informers = informers.NewSharedInformerFactory(fake.NewClientset(), 0)
	budgets := p.Informers.Policy().V1().PodDisruptionBudgets()
	for _, b := range []*policyv1.PodDisruptionBudget{
		{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "z"}, Spec: policyv1.PodDisruptionBudgetSpec{Selector: everything}},
		{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "a"}, Spec: policyv1.PodDisruptionBudgetSpec{Selector: everything}},
		{ObjectMeta: metav1.ObjectMeta{Namespace: "other", Name: "o"}, Spec: policyv1.PodDisruptionBudgetSpec{Selector: everything}},
		{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "else"}, Spec: policyv1.PodDisruptionBudgetSpec{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"no": "pod"}}}},
	} {
		if err := budgets.Informer().GetStore().Add(b); err != nil {
			t.Fatal(err)
		}
	}
	ready := newPod("p", 0)
	ready.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	terminating := ready.DeepCopy()
	terminating.DeletionTimestamp = &metav1.Time{}
	for name, c := range map[string]struct {
		pod  *corev1.Pod
		want []string
	}{
		"healthy":     {ready, []string{"a [p] true", "z [p] true"}},
		"unhealthy":   {newPod("p", 0), nil},
		"terminating": {terminating, nil},
	} {
		a := &recordingDisplacer{}
		if err := newBudgetDebiter(p).displace(t.Context(), a, displacer.Displacement{Pod: c.pod, Cause: displacement.Taint}); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(a.debits, c.want) {
			t.Errorf("%s: debits %v, want %v", name, a.debits, c.want)
		}
	}
}
