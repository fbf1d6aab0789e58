package conversion

import (
	"reflect"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berthproject/berth/engine/model"
)

func TestEvictionPressure(t *testing.T) {
	at := metav1.NewTime(time.Unix(1000, 0))
	disrupted := []corev1.PodCondition{{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: "TerminationByKubelet", LastTransitionTime: at}}
	for name, c := range map[string]struct {
		status corev1.PodStatus
		want   *model.NodeEviction
	}{
		"memory":                        {corev1.PodStatus{Message: "The node was low on resource: memory. Threshold quantity: 100Mi, available: 50Mi. "}, &model.NodeEviction{Pressure: model.MemoryPressure, At: at.Time}},
		"storage":                       {corev1.PodStatus{Message: "The node was low on resource: ephemeral-storage. "}, &model.NodeEviction{Pressure: model.DiskPressure, At: at.Time}},
		"inodes":                        {corev1.PodStatus{Message: "The node was low on resource: inodes. "}, &model.NodeEviction{Pressure: model.DiskPressure, At: at.Time}},
		"pids":                          {corev1.PodStatus{Message: "The node was low on resource: pids."}, &model.NodeEviction{Pressure: model.PIDPressure, At: at.Time}},
		"the pod exceeds its own limit": {corev1.PodStatus{Message: "Pod ephemeral local storage usage exceeds the total limit of containers 1Gi. "}, nil},
		"another reason":                {corev1.PodStatus{Reason: "NodeAffinity", Message: "The node was low on resource: memory. "}, nil},
		"a running pod":                 {corev1.PodStatus{Phase: corev1.PodRunning, Message: "The node was low on resource: memory. "}, nil},
	} {
		s := c.status
		if s.Reason == "" {
			s.Reason = "Evicted"
		}
		if s.Phase == "" {
			s.Phase = corev1.PodFailed
		}
		s.Conditions = disrupted
		got := New().Pod(&corev1.Pod{Status: s}).Evicted
		if (got == nil) != (c.want == nil) || got != nil && (got.Pressure != c.want.Pressure || !got.At.Equal(c.want.At)) {
			t.Errorf("%s: got %+v, want %+v", name, got, c.want)
		}
	}
	if p := (&corev1.Pod{Status: corev1.PodStatus{Phase: corev1.PodFailed, Reason: "Evicted", Message: "The node was low on resource: memory. "}}); New().Pod(p).Evicted != nil {
		t.Error("got an eviction for a pod without the condition DisruptionTarget, want none")
	}
}

func TestAdmissionRejection(t *testing.T) {
	at := metav1.NewTime(time.Unix(1000, 0))
	const rejection = "Pod was rejected: Node didn't have enough resource: cpu, requested: 500, used: 3800, capacity: 4000"
	for name, c := range map[string]struct {
		reason, message string
		want            *model.NodeEviction
	}{
		"too little cpu":           {"OutOfcpu", rejection, &model.NodeEviction{Shortage: &model.ResourceShortage{Pod: "u", Resource: "cpu", Free: 200}}},
		"without quantities":       {"OutOfcpu", "Pod was rejected: no room", nil},
		"under pressure":           {"Evicted", "Pod was rejected: The node had condition: [MemoryPressure]. ", &model.NodeEviction{Pressure: model.MemoryPressure}},
		"under several conditions": {"Evicted", "Pod was rejected: The node had condition: [MemoryPressure PIDPressure]. ", &model.NodeEviction{Pressure: model.PIDPressure}},
		"out of disk":              {"OutOfDisk", "Pod was rejected: not enough", &model.NodeEviction{Pressure: model.DiskPressure}},
		"another reason":           {"NodeAffinity", "Pod was rejected: Predicate NodeAffinity failed", nil},
		"not rejected":             {"OutOfcpu", rejection[len("Pod was rejected: "):], nil},
	} {
		got := New().Eviction(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{UID: "u"}, Status: corev1.PodStatus{Phase: corev1.PodFailed, Reason: c.reason, Message: c.message, StartTime: &at}})
		if c.want != nil {
			c.want.At = at.Time
		}
		if !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: got %+v, want %+v", name, got, c.want)
		}
	}
}

func TestNodePressures(t *testing.T) {
	at := metav1.NewTime(time.Unix(1000, 0))
	n := New().Node(&corev1.Node{Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{
		{Type: corev1.NodeDiskPressure, Status: corev1.ConditionTrue, LastTransitionTime: at},
		{Type: corev1.NodePIDPressure, Status: corev1.ConditionFalse, LastHeartbeatTime: at, LastTransitionTime: metav1.NewTime(time.Unix(500, 0))},
	}}})
	want := [model.NumPressures]model.PressureCondition{model.DiskPressure: {True: true, Written: at.Time}, model.PIDPressure: {Written: at.Time}}
	if n.Pressures != want {
		t.Errorf("got pressures %+v, want %+v", n.Pressures, want)
	}
}
