package demo

import (
	"io"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/berthproject/berth/drain"
)

func TestInvalidOptions(t *testing.T) {
	three := []string{"a", "b", "c"}
	for want, o := range map[string]Options{
		`--acts "juggle": must be one of place, memory, disk, drain, preempt`: {Acts: []string{"juggle"}, Nodes: three},
		"2 nodes: the demo needs three":                                       {Nodes: three[:2]},
	} {
		o.Out = io.Discard
		if err := Run(t.Context(), o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Run: got error %v, want %q", err, want)
		}
	}
}

func TestFormatDuration(t *testing.T) {
	for d, want := range map[time.Duration]string{1500 * time.Microsecond: "1.5 ms", 38*time.Millisecond + 400: "38 ms", 2449 * time.Millisecond: "2.4 s"} {
		if got := formatDuration(d); got != want {
			t.Errorf("formatDuration(%v) = %q, want %q", d, got, want)
		}
	}
}

// TestComparePreview checks that a drain whose result differs from its preview is an error.
func TestComparePreview(t *testing.T) {
	s := &session{printer: printer{io.Discard}}
	newResult := func(rounds int, targets ...string) *drain.Result {
		r := &drain.Result{Rounds: rounds}
		for i, n := range targets {
			r.Pods = append(r.Pods, drain.Pod{Pod: "p", UID: string(rune('a' + i)), Outcome: drain.OutcomeMoved, Round: i + 1, To: n, Ready: true})
		}
		return r
	}
	if err := s.comparePreview(newResult(2, "n1", "n2"), newResult(2, "n1", "n2")); err != nil {
		t.Errorf("comparePreview of equal results: %v", err)
	}
	for name, result := range map[string]*drain.Result{"other node": newResult(2, "n1", "n3"), "other number of rounds": newResult(1, "n1", "n2"), "missing pod": newResult(2, "n1")} {
		if s.comparePreview(newResult(2, "n1", "n2"), result) == nil {
			t.Errorf("comparePreview with %s succeeded, want an error", name)
		}
	}
}

// TestNodesAreResetBetweenActs checks that the next act starts once the node has reported the pressure of this act
// and its end.
func TestNodesAreResetBetweenActs(t *testing.T) {
	since := time.Unix(1000, 0)
	for name, tc := range map[string]struct {
		status corev1.ConditionStatus
		since  time.Time
		taints []corev1.Taint
		want   string
	}{
		"not reported": {corev1.ConditionFalse, since.Add(-time.Minute), nil, "node n does not report DiskPressure yet"},
		"true":         {corev1.ConditionTrue, since, nil, "node n has DiskPressure"},
		"tainted":      {corev1.ConditionFalse, since.Add(time.Second), []corev1.Taint{{Key: corev1.TaintNodeDiskPressure}}, "node n has taint " + corev1.TaintNodeDiskPressure},
		"false":        {corev1.ConditionFalse, since.Add(time.Second), []corev1.Taint{Taint}, ""},
	} {
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}, Spec: corev1.NodeSpec{Taints: tc.taints}, Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{
			{Type: corev1.NodeReady, Status: corev1.ConditionTrue},
			{Type: corev1.NodeDiskPressure, Status: tc.status, LastTransitionTime: metav1.NewTime(tc.since)},
		}}}
		s := &session{Options: Options{Nodes: []string{"n"}}, client: fake.NewClientset(node), pressure: &nodePressure{node: "n", condition: corev1.NodeDiskPressure, since: since}}
		if got := s.blockedReason(t.Context()); got != tc.want {
			t.Errorf("%s: blockedReason = %q, want %q", name, got, tc.want)
		}
	}
}

// TestPodTracker checks that the tracker records the times at which pods reach a state, and the deletion of pods, which
// checkUnaffected reports.
func TestPodTracker(t *testing.T) {
	client := fake.NewClientset()
	tracker, err := watchPods(t.Context(), client)
	if err != nil {
		t.Fatal(err)
	}
	pods := client.CoreV1().Pods(Namespace)
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "a", Namespace: Namespace, UID: "u", Labels: map[string]string{"app": "web"}}}
	if _, err := pods.Create(t.Context(), p, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	p = p.DeepCopy()
	p.Spec.NodeName, p.Status.Phase = "n1", corev1.PodRunning
	p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	if _, err := pods.Update(t.Context(), p, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	got, err := tracker.waitReady(t.Context(), "web", 1)
	if err != nil {
		t.Fatal(err)
	}
	if got[0].bound.IsZero() || got[0].ready.IsZero() || !got[0].failed.IsZero() {
		t.Errorf("got times %+v, want bound and ready, not failed", got[0])
	}
	s := &session{printer: printer{io.Discard}, pods: tracker}
	if err := s.checkUnaffected(got); err != nil {
		t.Error(err)
	}
	if err := pods.Delete(t.Context(), "a", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := tracker.waitFor(t.Context(), func() string {
		if len(tracker.list("")) > 0 {
			return "pod a still exists"
		}
		return ""
	}); err != nil {
		t.Fatal(err)
	}
	if s.checkUnaffected(got) == nil {
		t.Error("checkUnaffected succeeded after the deletion of a pod, want an error")
	}
}
