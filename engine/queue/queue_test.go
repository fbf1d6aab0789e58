package queue

import (
	"strings"
	"testing"
	"time"

	"github.com/berthproject/berth/engine/decision"
)

var (
	t0  = time.Unix(1000, 0)
	fit = decision.PluginSet(0).With(decision.NodeResourcesFit)
)

func after(d time.Duration) time.Time { return t0.Add(d) }

func testQueue() *Queue {
	cfg := DefaultConfig()
	cfg.EventsToRegister = eventsFor
	return New(cfg)
}

// next pops a pod and returns its UID, or "".
func next(q *Queue, now time.Time) string {
	a, _ := q.Pop(now)
	return a.UID
}

func TestPopOrder(t *testing.T) {
	q := testQueue()
	q.Add(after(1), Pod{UID: "late", Namespace: "ns", Name: "a"})
	q.Add(t0, Pod{UID: "z", Namespace: "ns", Name: "z"})
	q.Add(t0, Pod{UID: "b", Namespace: "ns", Name: "b"})
	q.Add(after(2), Pod{UID: "high", Namespace: "ns", Name: "c", Priority: 5})
	for _, want := range []string{"high", "b", "z", "late", ""} {
		if got := next(q, after(3)); got != want {
			t.Fatalf("next is %q, want %q", got, want)
		}
	}
}

func TestUnschedulablePodWaitsForRegisteredEvent(t *testing.T) {
	q := testQueue()
	q.Add(t0, Pod{UID: "a"})
	next(q, t0)
	q.RequeueUnschedulable(t0, "a", fit)
	q.HandleEvent(after(time.Second), decision.Delta{Events: decision.NodeTaintsChanged})
	if got := q.PoolOf("a"); got != Unschedulable {
		t.Fatalf("after a taint change the pod is in %v", got)
	}
	q.HandleEvent(after(5*time.Second), decision.Delta{Events: decision.PodRemoved})
	if got := q.PoolOf("a"); got != Active {
		t.Fatalf("after its backoff and a removal the pod is in %v", got)
	}
}

func TestInFlightEventRequeuesPod(t *testing.T) {
	q := testQueue()
	q.Add(t0, Pod{UID: "a"})
	next(q, t0)
	q.HandleEvent(t0, decision.Delta{Events: decision.NodeAdded})
	q.RequeueUnschedulable(t0, "a", fit)
	if got := q.PoolOf("a"); got != Backoff {
		t.Fatalf("the pod is in %v, want backoff", got)
	}
}

func TestErrorBackoff(t *testing.T) {
	q := testQueue()
	q.Add(t0, Pod{UID: "a"})
	now := t0
	for _, want := range []time.Duration{2, 3, 5, 9, 11, 11} { // 1, 2, 4, 8, 10, 10 s and the rest of the window
		if got := next(q, now); got != "a" {
			t.Fatalf("next is %q", got)
		}
		q.RequeueFailed(now, "a")
		if got := q.NextWakeup(now).Sub(now); got != want*time.Second {
			t.Fatalf("wakes after %v, want %v s", got, want)
		}
		if got := next(q, now); got != "" {
			t.Fatal("a pod left the backoff queue before its backoff ended")
		}
		now = q.NextWakeup(now)
	}
	next(q, now)
	q.RequeueUnschedulable(now, "a", 0)
	q.HandleEvent(now, decision.Delta{Events: decision.SpreadGroupChanged}) // rejected by no plugin: any event requeues it
	if got := next(q, now); got != "a" {
		t.Fatal("a rejected pod is popped from the backoff queue when the active queue is empty")
	}
}

func TestUnschedulableTimeout(t *testing.T) {
	q := testQueue()
	q.Add(t0, Pod{UID: "a"})
	next(q, t0)
	q.RequeueUnschedulable(t0, "a", fit)
	now, wakeups := t0, 0
	for q.PoolOf("a") == Unschedulable {
		now = q.NextWakeup(now)
		q.flushDue(now)
		wakeups++
	}
	if got := now.Sub(t0); got != 5*time.Minute || wakeups != 10 {
		t.Fatalf("flushed after %v and %d wake-ups", got, wakeups)
	}
}

// Only pods that are scheduled after the timeout count as flushed, not gated pods that the
// timeout moved before.
func TestFlushedPodsAreCounted(t *testing.T) {
	const gate = decision.SchedulingGates
	for name, tc := range map[string]struct {
		gated bool // at first, and again after five minutes
		want  uint64
	}{"rejected": {false, 1}, "gated": {true, 0}} {
		q, p := testQueue(), Pod{UID: "a"}
		if tc.gated {
			q.AddGated(t0, p, gate)
		} else {
			q.Add(t0, p)
			next(q, t0)
			q.RequeueUnschedulable(t0, "a", fit)
		}
		now := after(6 * time.Minute)
		if got := next(q, now); got != "a" {
			t.Fatalf("%s: after six minutes %q is tried", name, got)
		}
		if tc.gated {
			q.AddGated(now, p, gate)
			q.Update(now, p, true)
			next(q, now)
		}
		if q.MarkAssumed("a"); q.Counts().Flushed != tc.want {
			t.Errorf("%s: %d pods got a node as leftovers, want %d", name, q.Counts().Flushed, tc.want)
		}
	}
}

func TestIncomingPods(t *testing.T) {
	q := testQueue()
	q.Add(t0, Pod{UID: "a"})
	next(q, t0)
	q.RequeueUnschedulable(t0, "a", fit)
	q.HandleEvent(t0, decision.Delta{Events: decision.NodeAdded})
	var got []string
	q.IncomingPods(func(p Pool, c Cause, n uint64) { got = append(got, p.String()+" "+c.String()) })
	want := []string{"active PodAdd", "backoff NodeAdd", "unschedulable ScheduleAttemptFailure"}
	if len(got) != len(want) {
		t.Fatalf("got %v, want %v", got, want)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("arrival %d is %q, want %q", i, got[i], want[i])
		}
	}
}

// TestCauseNames checks the event labels of queue_incoming_pods_total. A star stands for
// the action.
func TestCauseNames(t *testing.T) {
	for cause, want := range map[Cause]string{
		PodAdd: "PodAdd", PodUpdate: "PodUpdate", GatesRemoved: "PodUpdatePodSchedulingGatesEliminated", AttemptFailed: "ScheduleAttemptFailure",
		BackoffComplete: "BackoffComplete", UnschedulableTimeout: "UnschedulableTimeout", ForceActivate: "ForceActivate", SelfAudit: "SelfAudit",
	} {
		if got := cause.String(); got != want {
			t.Errorf("cause %d is %q, want %q", cause, got, want)
		}
	}
	changes := map[decision.ClusterEvents]string{
		decision.NodeAdded: "NodeAdd", decision.NodeRemoved: "NodeDelete", decision.NodeAllocatableChanged: "NodeUpdateNodeAllocatable",
		decision.NodeLabelsChanged: "NodeUpdateNodeLabel", decision.NodeTaintsChanged: "NodeUpdateNodeTaint", decision.NodeUncordoned: "NodeUpdateNodeTaint",
		decision.NodeFeaturesChanged: "NodeUpdateNodeDeclaredFeature", decision.PodAssigned: "AssignedPodAdd", decision.PodLabelsChanged: "AssignedPodUpdatePodLabel",
		decision.PodScaledDown: "AssignedPodUpdatePodScaleDown", decision.PodTerminating: "AssignedPodUpdate", decision.PodRemoved: "AssignedPodDelete",
		decision.SpreadGroupChanged: "Group*", decision.NamespaceLabelsChanged: "Namespace*", decision.PVCChanged: "PersistentVolumeClaim*",
		decision.PVChanged: "PersistentVolume*", decision.StorageClassChanged: "storage.k8s.io/StorageClass*", decision.CSINodeChanged: "storage.k8s.io/CSINode*",
		decision.CSIDriverChanged: "storage.k8s.io/CSIDriver*", decision.CSIStorageCapacityChanged: "storage.k8s.io/CSIStorageCapacity*",
		decision.VolumeAttachmentChanged: "storage.k8s.io/VolumeAttachment*", decision.BudgetChanged: "PodDisruptionBudget*",
		decision.ResourceClaimChanged: "resource.k8s.io/ResourceClaim*", decision.HoldEnded: "berth.dev/Hold*",
	}
	if len(changes) != decision.NumEvents {
		t.Errorf("%d kinds of events are tested, there are %d", len(changes), decision.NumEvents)
	}
	for kind, name := range changes {
		for done, d := range map[string]decision.Delta{"Add": {Events: kind, New: t}, "Update": {Events: kind, Old: t, New: t}, "Delete": {Events: kind, Old: t}} {
			q := testQueue()
			q.Add(t0, Pod{UID: "a"})
			next(q, t0)
			q.RequeueUnschedulable(t0, "a", 0)
			q.HandleEvent(t0, d)
			popped, want := "", strings.Replace(name, "*", done, 1)
			q.IncomingPods(func(p Pool, c Cause, n uint64) {
				if p == Backoff {
					popped += c.String()
				}
			})
			if popped != want {
				t.Errorf("%s of change %b wakes by %q, want %q", done, kind, popped, want)
			}
		}
	}
}
