package records

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berthproject/berth/api/v1alpha1"
	"github.com/berthproject/berth/engine/displace"
	"github.com/berthproject/berth/engine/rebalance/plan"
)

// What the descheduler remembers of an owner and a node outlasts that the node throws pods out.
func TestWhatWasInVainIsNotForgotten(t *testing.T) {
	b := newBench(t)
	vain := &v1alpha1.Hold{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: plan.VainHold("rs", "n1")},
		Spec: v1alpha1.HoldSpec{Type: v1alpha1.Avoid, Node: "n1", Cause: plan.Cause, Count: 3, Owner: v1alpha1.Owner{UID: "rs"}, Until: metav1.NewTime(b.at.Add(-time.Hour))}}
	_ = b.Create(t.Context(), vain)
	b.thrown(displace.Pressure, "a", b.at.Add(-time.Hour))
	b.sweep(t.Context())
	b.see(func(n *corev1.Node) {
		n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeMemoryPressure, Status: corev1.ConditionFalse, LastHeartbeatTime: metav1.NewTime(b.at.Add(time.Second))}}
	})
	if len(b.shelf.holds) != 2 {
		t.Errorf("holds %v", b.shelf.holds)
	}
	b.step()
	if h := b.one(); h == nil || h.Spec.Count != 3 || h.Spec.Cause != plan.Cause {
		t.Errorf("hold %+v", h)
	}
}
