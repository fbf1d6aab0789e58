package conversion

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/nodelifecycle"
)

func TestNodeLifecycleNode(t *testing.T) {
	added := metav1.NewTime(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	n := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: "n", UID: "u", Labels: map[string]string{
			"topology.kubernetes.io/region": "r", "failure-domain.beta.kubernetes.io/zone": "z", labelExcludeDisruption: ""}},
		Spec: corev1.NodeSpec{Unschedulable: true, Taints: []corev1.Taint{
			{Key: "a", Effect: corev1.TaintEffectNoExecute, TimeAdded: &added}, {Key: "b", Effect: "Other"}, {Key: "c", Value: "v", Effect: corev1.TaintEffectNoSchedule}}},
		Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: "Other", Reason: "R", LastHeartbeatTime: added}}},
	}
	got := NodeLifecycleNode(n)
	if got.Name != "n" || got.UID != "u" || got.Zone != "r/z" || !got.Excluded || !got.Unschedulable {
		t.Errorf("got node %+v, want the fields of %+v", got, n)
	}
	if r := got.Condition(nodelifecycle.Ready); r.Status != nodelifecycle.Unknown || r.Reason != "R" || !r.Heartbeat.Equal(added.Time) {
		t.Errorf("got condition %+v, want status Unknown, reason R and heartbeat %v", r, added)
	}
	if len(got.Taints) != 2 || got.Taints[0] != (model.TimedTaint{Taint: model.Taint{Key: "a", Effect: model.NoExecute}, Added: added.Time}) ||
		got.Taints[1].Value != "v" || !got.Taints[1].Added.IsZero() {
		t.Errorf("got taints %+v, want a and c", got.Taints)
	}
}

func TestTaintEvictionPodBoundTime(t *testing.T) {
	at := func(s int) metav1.Time { return metav1.NewTime(time.Unix(int64(s), 0)) }
	started := at(2)
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "p", UID: "u", CreationTimestamp: at(1)},
		Spec: corev1.PodSpec{NodeName: "n", Tolerations: []corev1.Toleration{{Key: "k", Operator: corev1.TolerationOpExists}}}}
	checkBound := func(want int) {
		t.Helper()
		got := TaintEvictionPod(p)
		if !got.Bound.Equal(at(want).Time) || got.Node != "n" || got.Key() != "ns/p" || len(got.Tolerations) != 1 {
			t.Errorf("got pod %+v, want ns/p on node n, bound at %d, with one toleration", got, want)
		}
	}
	checkBound(1)
	p.Status.StartTime = &started
	checkBound(2)
	p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, LastTransitionTime: at(3)}}
	checkBound(2)
	p.Status.Conditions[0].Status = corev1.ConditionTrue
	checkBound(3)
}
