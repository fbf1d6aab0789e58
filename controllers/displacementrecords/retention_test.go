package displacementrecords

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berthproject/berth/api/v1alpha1"
	"github.com/berthproject/berth/engine/descheduling/planning"
	"github.com/berthproject/berth/engine/displacement"
)

// TestFutileMoveHoldIsRetained checks that a Hold that counts futile moves outlasts an eviction by the node, also one of the
// previous release.
func TestFutileMoveHoldIsRetained(t *testing.T) {
	for _, cause := range []string{planning.HoldCause, "Rebalance"} {
		testFutileMoveHold(t, cause)
	}
}

func testFutileMoveHold(t *testing.T, cause string) {
	b := newHoldHarness(t)
	futile := &v1alpha1.Hold{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: planning.AvoidHoldName("rs", "n1")},
		Spec: v1alpha1.HoldSpec{Type: v1alpha1.Avoid, Node: "n1", Cause: cause, Count: 3, Owner: v1alpha1.Owner{UID: "rs"}, Until: metav1.NewTime(b.at.Add(-time.Hour))}}
	_ = b.Create(t.Context(), futile)
	b.addEviction(displacement.Pressure, "a", b.at.Add(-time.Hour))
	b.resyncHolds(t.Context())
	b.updateNode(func(n *corev1.Node) {
		n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeMemoryPressure, Status: corev1.ConditionFalse, LastHeartbeatTime: metav1.NewTime(b.at.Add(time.Second))}}
	})
	if len(b.fakeHoldStore.holds) != 2 {
		t.Errorf("Holds %v, want two", b.fakeHoldStore.holds)
	}
	b.step()
	if h := b.hold(); h == nil || h.Spec.Count != 3 || h.Spec.Cause != cause {
		t.Errorf("Hold %+v, want the one that counts futile moves", h)
	}
}
