package executor

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/scheduling"
)

// resizing returns the pod with a pending resize of the reason, or without one.
func resizing(p *corev1.Pod, reason string) *corev1.Pod {
	if reason != "" {
		p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodResizePending, Status: corev1.ConditionTrue, Reason: reason}}
	}
	return p
}

// TestPreemptForResize checks that the victims of a resize are displaced without a nomination, and only while the
// resize is deferred.
func TestPreemptForResize(t *testing.T) {
	const displaced = "patch:pods/status:a create:events delete:pods:a"
	for name, tc := range map[string]struct {
		pod      *corev1.Pod
		retry    bool
		want     scheduling.Result
		requests string
	}{
		"deferred":           {resizing(podOnNode("u1", "n1"), corev1.PodReasonDeferred), false, scheduling.Done, displaced},
		"deferred, repeated": {resizing(podOnNode("u1", "n1"), corev1.PodReasonDeferred), true, scheduling.Done, displaced},
		"infeasible":         {resizing(podOnNode("u1", "n1"), corev1.PodReasonInfeasible), false, scheduling.Conflict, ""},
		"withdrawn":          {resizing(podOnNode("u1", "n1"), ""), false, scheduling.Conflict, ""},
		"another pod":        {resizing(podOnNode("u2", "n1"), corev1.PodReasonDeferred), false, scheduling.Conflict, ""},
	} {
		t.Run(name, func(t *testing.T) {
			x, client := newTestExecutor(nil, tc.pod, lowPriorityPod("a"))
			e := newPreempt([]string{"a"}, nil)
			e.Resize, e.Retry = true, tc.retry
			if o := x.preempt(t.Context(), e); o.Result != tc.want {
				t.Errorf("outcome %+v, want %v", o, tc.want)
			}
			if got := recordedRequests(client); got != tc.requests {
				t.Errorf("requests %q, want %q", got, tc.requests)
			}
		})
	}
	x, _ := newTestExecutor(nil, lowPriorityPod("a"))
	e := newPreempt([]string{"a"}, nil)
	e.Resize = true
	if o := x.preempt(t.Context(), e); o.Result != scheduling.Conflict {
		t.Errorf("outcome %+v for a deleted pod, want a conflict", o)
	}
}

func TestDeferredResizeEvent(t *testing.T) {
	x, _ := newTestExecutor(nil)
	s := &decision.Summary{Nodes: 1, Error: "preemption was refused", Outcome: decision.Errored}
	x.recordDeferredResize(scheduling.ReportDeferredResize{Pod: web, Summary: s})
	ev := <-x.o.Events.queue
	if ev.Reason != "FailedScheduling" || ev.Note != s.Error {
		t.Errorf("event %s %q, want FailedScheduling %q", ev.Reason, ev.Note, s.Error)
	}
}
