package queue

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/berthproject/berth/engine/decision"
)

// fakeHintQueue returns a queue with unschedulable pods of one group, oldest first, and an
// event of a node that any of them may fit.
func fakeHintQueue(pods int) (*Queue, *hintTable, decision.Delta) {
	hints := &hintTable{}
	hints.fits[0] = [4]bool{true, true, true, true}
	cfg := DefaultConfig()
	cfg.QueueingHints = func(string) (any, QueueingHints) { return 0, &fakeHints{hints, 0} }
	q := New(cfg)
	for i := range pods {
		uid := fmt.Sprintf("u%02d", i)
		now := after(time.Duration(i) * time.Second)
		q.Add(now, Pod{UID: uid, Namespace: "ns", Name: uid})
		q.Pop(now)
		q.RequeueUnschedulable(now, uid, fitPlugin)
	}
	return q, hints, decision.Delta{Events: decision.PodRemoved, New: &fakeEvent{node: 0, anyNodeGroup: -1}}
}

func TestEventQueuesOnePodOfGroup(t *testing.T) {
	q, _, d := fakeHintQueue(3)
	now := after(time.Minute)
	q.HandleEvent(now, d)
	if got := q.Depths(); got.Active != 1 || got.Unschedulable != 2 {
		t.Fatalf("depths after the event: %+v, want 1 active and 2 unschedulable pods", got)
	}
	for _, want := range []string{"u00", "u01"} {
		if got := popUID(q, now); got != want {
			t.Fatalf("popped %q, want %q", got, want)
		}
		q.MarkAssumed(want)
	}
	if got := popUID(q, now); got != "u02" {
		t.Fatalf("popped %q, want \"u02\"", got)
	}
	q.RequeueUnschedulable(now, "u02", fitPlugin)
	if got := q.Depths(); got.Unschedulable != 1 || got.InFlight != 2 {
		t.Fatalf("depths at the end: %+v, want 1 unschedulable pod and 2 in flight", got)
	}
}

func TestRejectionAppliesToGroup(t *testing.T) {
	q, _, d := fakeHintQueue(3)
	now := after(time.Minute)
	q.HandleEvent(now, d)
	popUID(q, now)
	q.RequeueUnschedulable(now, "u00", fitPlugin)
	if got := q.Depths(); got.Unschedulable != 3 {
		t.Fatalf("depths after one rejection: %+v, want 3 unschedulable pods", got)
	}
	q.HandleEvent(now, d)
	if got := popUID(q, now); got != "u01" {
		t.Errorf("the next event queued %q, want \"u01\", the least recently tried pod", got)
	}
}

func TestStaleTrialPodIsNotPopped(t *testing.T) {
	q, hints, d := fakeHintQueue(2)
	now := after(time.Minute)
	q.HandleEvent(now, d)
	hints.fits[0][0] = false // another pod has taken the capacity
	if got := popUID(q, now); got != "" {
		t.Fatalf("popped %q, want no pod", got)
	}
	if got := q.Depths(); got.Unschedulable != 2 || q.Counts().StaleWakeups != 1 {
		t.Errorf("depths %+v, counts %+v; want 2 unschedulable pods and 1 stale wake-up", got, q.Counts())
	}
}

func TestInFlightEventOverflowKeepsKinds(t *testing.T) {
	for _, c := range []struct {
		kind decision.ClusterEvents
		want Pool
	}{{decision.NodeTaintsChanged, Unschedulable}, {decision.NodeAllocatableChanged, Backoff}} {
		q, _, _ := fakeHintQueue(1)
		q.Add(after(time.Minute), Pod{UID: "u09", Namespace: "ns", Name: "u09"})
		popUID(q, after(time.Minute))
		for range 2 * maxEvents {
			q.HandleEvent(after(time.Minute), decision.Delta{Events: c.kind, New: &fakeEvent{node: 2, anyNodeGroup: -1}})
		}
		q.RequeueUnschedulable(after(time.Minute), "u09", fitPlugin)
		if got := q.PoolOf("u09"); got != c.want {
			t.Errorf("after events of kind %b the pod is in %v, want %v", c.kind, got, c.want)
		}
	}
}

func TestActivateSkipsBackoff(t *testing.T) {
	q := testQueue()
	for _, uid := range []string{"a", "b", "c"} {
		q.Add(t0, Pod{UID: uid, Namespace: "ns", Name: uid})
		popUID(q, t0)
	}
	q.RequeueUnschedulable(t0, "a", fitPlugin)
	q.RequeueFailed(t0, "b")
	q.RequeueUnschedulable(t0, "c", fitPlugin)
	q.Activate(t0, "b")
	q.HandleEvent(t0, decision.Delta{Events: decision.NodeAdded})
	q.Activate(t0, "c")
	var got []string
	q.PendingPods(func(p PendingPod) bool {
		end := "none"
		if !p.BackoffEnd.IsZero() {
			end = p.BackoffEnd.Sub(t0).String()
		}
		got = append(got, fmt.Sprint(p.UID, " ", p.Pool, " ", p.Attempts, " ", p.UnschedulablePlugins == fitPlugin, " ", end))
		return true
	})
	if want := []string{"b active 1 false none", "c active 1 true none", "a backoff 1 true 2s"}; !slices.Equal(got, want) {
		t.Fatalf("got %q, want %q", got, want)
	}
}
