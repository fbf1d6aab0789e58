package queue

import (
	"strings"
	"testing"
	"time"

	"github.com/berthproject/berth/engine/decision"
)

var (
	t0        = time.Unix(1000, 0)
	fitPlugin = decision.PluginSet(0).With(decision.NodeResourcesFit)
)

func after(d time.Duration) time.Time { return t0.Add(d) }

func testQueue() *Queue {
	cfg := DefaultConfig()
	cfg.EventsToRegister = eventsFor
	return New(cfg)
}

func popUID(q *Queue, now time.Time) string {
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
		if got := popUID(q, after(3)); got != want {
			t.Fatalf("popped %q, want %q", got, want)
		}
	}
}

func TestUnschedulablePodWaitsForRegisteredEvent(t *testing.T) {
	q := testQueue()
	q.Add(t0, Pod{UID: "a"})
	popUID(q, t0)
	q.RequeueUnschedulable(t0, "a", fitPlugin)
	q.HandleEvent(after(time.Second), decision.Delta{Events: decision.NodeTaintsChanged})
	if got := q.PoolOf("a"); got != Unschedulable {
		t.Fatalf("after a taint change the pod is in %v, want unschedulable", got)
	}
	q.HandleEvent(after(5*time.Second), decision.Delta{Events: decision.PodRemoved})
	if got := q.PoolOf("a"); got != Active {
		t.Fatalf("after its backoff and a removal the pod is in %v, want active", got)
	}
}

func TestInFlightEventRequeuesPod(t *testing.T) {
	q := testQueue()
	q.Add(t0, Pod{UID: "a"})
	popUID(q, t0)
	q.HandleEvent(t0, decision.Delta{Events: decision.NodeAdded})
	q.RequeueUnschedulable(t0, "a", fitPlugin)
	if got := q.PoolOf("a"); got != Backoff {
		t.Fatalf("the pod is in %v, want backoff", got)
	}
}

func TestErrorBackoff(t *testing.T) {
	q := testQueue()
	q.Add(t0, Pod{UID: "a"})
	now := t0
	for _, want := range []time.Duration{2, 3, 5, 9, 11, 11} { // 1, 2, 4, 8, 10, 10 s and the remainder of the window
		if got := popUID(q, now); got != "a" {
			t.Fatalf("popped %q, want \"a\"", got)
		}
		q.RequeueFailed(now, "a")
		if got := q.NextWakeup(now).Sub(now); got != want*time.Second {
			t.Fatalf("the next wake-up is in %v, want %v", got, want*time.Second)
		}
		if got := popUID(q, now); got != "" {
			t.Fatalf("popped %q before its backoff ended, want no pod", got)
		}
		now = q.NextWakeup(now)
	}
	popUID(q, now)
	q.RequeueUnschedulable(now, "a", 0)
	// No plugin rejected the pod, so any event requeues it.
	q.HandleEvent(now, decision.Delta{Events: decision.SpreadGroupChanged})
	if got := popUID(q, now); got != "a" {
		t.Fatalf("popped %q, want \"a\" from the backoff pool, as the active pool is empty", got)
	}
}

func TestUnschedulableTimeout(t *testing.T) {
	q := testQueue()
	q.Add(t0, Pod{UID: "a"})
	popUID(q, t0)
	q.RequeueUnschedulable(t0, "a", fitPlugin)
	now, wakeups := t0, 0
	for q.PoolOf("a") == Unschedulable {
		now = q.NextWakeup(now)
		q.flushDue(now)
		wakeups++
	}
	if got := now.Sub(t0); got != 5*time.Minute || wakeups != 10 {
		t.Fatalf("flushed after %v and %d wake-ups, want 5m0s and 10", got, wakeups)
	}
}

// TestFlushedPodsAreCounted checks that only pods scheduled after the timeout count as
// flushed, and not gated pods that the timeout moved before.
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
			popUID(q, t0)
			q.RequeueUnschedulable(t0, "a", fitPlugin)
		}
		now := after(6 * time.Minute)
		if got := popUID(q, now); got != "a" {
			t.Fatalf("%s: popped %q after six minutes, want \"a\"", name, got)
		}
		if tc.gated {
			q.AddGated(now, p, gate)
			q.Update(now, p, true)
			popUID(q, now)
		}
		if q.MarkAssumed("a"); q.Counts().Flushed != tc.want {
			t.Errorf("%s: %d pods were counted as flushed, want %d", name, q.Counts().Flushed, tc.want)
		}
	}
}

func TestIncomingPods(t *testing.T) {
	q := testQueue()
	q.Add(t0, Pod{UID: "a"})
	popUID(q, t0)
	q.RequeueUnschedulable(t0, "a", fitPlugin)
	q.HandleEvent(t0, decision.Delta{Events: decision.NodeAdded})
	var got []string
	q.IncomingPods(func(p Pool, c Cause, n uint64) { got = append(got, p.String()+" "+c.String()) })
	want := []string{"active PodAdd", "backoff NodeAdd", "unschedulable ScheduleAttemptFailure"}
	if len(got) != len(want) {
		t.Fatalf("got %v, want %v", got, want)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("counter %d is %q, want %q", i, got[i], want[i])
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
	events := map[decision.ClusterEvents]string{
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
	if len(events) != decision.NumEvents {
		t.Errorf("tested %d kinds of events, want %d", len(events), decision.NumEvents)
	}
	for kind, name := range events {
		for action, d := range map[string]decision.Delta{"Add": {Events: kind, New: t}, "Update": {Events: kind, Old: t, New: t}, "Delete": {Events: kind, Old: t}} {
			q := testQueue()
			q.Add(t0, Pod{UID: "a"})
			popUID(q, t0)
			q.RequeueUnschedulable(t0, "a", 0)
			q.HandleEvent(t0, d)
			got, want := "", strings.Replace(name, "*", action, 1)
			q.IncomingPods(func(p Pool, c Cause, n uint64) {
				if p == Backoff {
					got += c.String()
				}
			})
			if got != want {
				t.Errorf("action %s on kind %b is counted as %q, want %q", action, kind, got, want)
			}
		}
	}
}
