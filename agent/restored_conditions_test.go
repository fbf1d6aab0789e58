package agent

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/berthproject/berth/agent/runtime"
	"github.com/berthproject/berth/agent/runtime/simulated"
)

// restoredPressure rejects all pods if the node had MemoryPressure when the agent started.
type restoredPressure struct{ underPressure bool }

func (p *restoredPressure) Admit(*corev1.Pod) *Rejection {
	if p.underPressure {
		return &Rejection{Reason: "Evicted", Message: "The node had condition: [MemoryPressure]. "}
	}
	return nil
}

func (p *restoredPressure) Conditions() []corev1.NodeCondition { return nil }

func (p *restoredPressure) RestoreConditions(conditions []corev1.NodeCondition) {
	for _, c := range conditions {
		p.underPressure = p.underPressure || c.Type == corev1.NodeMemoryPressure && c.Status == corev1.ConditionTrue
	}
}

// TestRestoreConditionsBeforeAdmission checks that an agent that starts rejects new pods by the node's conditions in
// the API. It does so before it has written the node's status.
func TestRestoreConditionsBeforeAdmission(t *testing.T) {
	for _, status := range []corev1.ConditionStatus{corev1.ConditionTrue, corev1.ConditionFalse} {
		n := NewNode("n", resource.MustParse("1"), resource.MustParse("1Gi"))
		a, err := New(Options{
			Client: fake.NewClientset(), Nodes: []*corev1.Node{n}, Pressure: func(string) PressureManager { return &restoredPressure{} },
			Runtime: func(report func(runtime.Report)) runtime.Runtime { return simulated.New(report) },
		})
		if err != nil {
			t.Fatal(err)
		}
		n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeMemoryPressure, Status: status}}
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "p", UID: "1"}, Spec: corev1.PodSpec{NodeName: "n", Containers: []corev1.Container{{Name: "c"}}}}
		p.Status.Phase = corev1.PodPending
		a.Restore([]*corev1.Pod{p}, []*corev1.Node{n})
		if want := status == corev1.ConditionTrue; a.pods[p.UID].rejected != want {
			t.Errorf("MemoryPressure=%s: pod rejected %t, want %t", status, a.pods[p.UID].rejected, want)
		}
	}
}
