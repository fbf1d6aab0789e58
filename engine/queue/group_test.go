package queue

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/berthproject/berth/engine/decision"
)

// fakeHintQueue returns a queue with unschedulable pods of one group, the first of them
// oldest, and an event of a node that any of them may fit.
func fakeHintQueue(pods int) (*Queue, *hintTable, decision.Delta) {
	hints := &hintTable{shifts: 0}
	hints.open[0] = [4]bool{true, true, true, true}
	cfg := DefaultConfig()
	cfg.QueueingHints = func(string) (any, QueueingHints) { return 0, &fakeHints{hints, 0} }
	q := New(cfg)
	for i := range pods {
		uid := fmt.Sprintf("u%02d", i)
		now := after(time.Duration(i) * time.Second)
		q.Add(now, Pod{UID: uid, Namespace: "ns", Name: uid})
		q.Pop(now)
		q.RequeueUnschedulable(now, uid, fit)
	}
	return q, hints, decision.Delta{Events: decision.PodRemoved, New: &fakeEvent{node: 0, anywhere: -1}}
}

func TestOnePodOfAGroupProbes(t *testing.T) {
	q, _, d := fakeHintQueue(3)
	now := after(time.Minute)
	q.HandleEvent(now, d)
	if got := q.Depths(); got.Active != 1 || got.Unschedulable != 2 {
		t.Fatalf("woken: %+v", got)
	}
	for _, want := range []string{"u00", "u01"} {
		if got := next(q, now); got != want {
			t.Fatalf("next is %q, want %q", got, want)
		}
		q.MarkAssumed(want)
	}
	if got := next(q, now); got != "u02" {
		t.Fatalf("next is %q", got)
	}
	q.RequeueUnschedulable(now, "u02", fit)
	if got := q.Depths(); got.Unschedulable != 1 || got.InFlight != 2 {
		t.Fatalf("at the end: %+v", got)
	}
}

func TestRejectionAppliesToTheGroup(t *testing.T) {
	q, _, d := fakeHintQueue(3)
	now := after(time.Minute)
	q.HandleEvent(now, d)
	next(q, now)
	q.RequeueUnschedulable(now, "u00", fit)
	if got := q.Depths(); got.Unschedulable != 3 {
		t.Fatalf("after one rejection: %+v", got)
	}
	q.HandleEvent(now, d)
	if got := next(q, now); got != "u01" {
		t.Errorf("the next event queues %q, want the least recently tried pod", got)
	}
}

func TestStaleProbeIsNotPopped(t *testing.T) {
	q, hints, d := fakeHintQueue(2)
	now := after(time.Minute)
	q.HandleEvent(now, d)
	hints.open[0][0] = false // another pod has taken the capacity
	if got := next(q, now); got != "" {
		t.Fatalf("%q is tried", got)
	}
	if got := q.Depths(); got.Unschedulable != 2 || q.Counts().StaleWakeups != 1 {
		t.Errorf("%+v, %+v", got, q.Counts())
	}
}

func TestInFlightEventOverflow(t *testing.T) {
	for _, c := range []struct {
		kind decision.ClusterEvents
		want Pool
	}{{decision.NodeTaintsChanged, Unschedulable}, {decision.NodeAllocatableChanged, Backoff}} {
		q, _, _ := fakeHintQueue(1)
		q.Add(after(time.Minute), Pod{UID: "u09", Namespace: "ns", Name: "u09"})
		next(q, after(time.Minute))
		for range 2 * maxEvents {
			q.HandleEvent(after(time.Minute), decision.Delta{Events: c.kind, New: &fakeEvent{node: 2, anywhere: -1}})
		}
		q.RequeueUnschedulable(after(time.Minute), "u09", fit)
		if got := q.PoolOf("u09"); got != c.want {
			t.Errorf("after changes of kind %b: %v, want %v", c.kind, got, c.want)
		}
	}
}

func TestActivateSkipsBackoff(t *testing.T) {
	q := testQueue()
	for _, uid := range []string{"a", "b", "c"} {
		q.Add(t0, Pod{UID: uid, Namespace: "ns", Name: uid})
		next(q, t0)
	}
	q.RequeueUnschedulable(t0, "a", fit)
	q.RequeueFailed(t0, "b")
	q.RequeueUnschedulable(t0, "c", fit)
	q.Activate(t0, "b")
	q.HandleEvent(t0, decision.Delta{Events: decision.NodeAdded})
	q.Activate(t0, "c")
	var got []string
	q.PendingPods(func(w PendingPod) bool {
		end := "none"
		if !w.BackoffEnd.IsZero() {
			end = w.BackoffEnd.Sub(t0).String()
		}
		got = append(got, fmt.Sprint(w.UID, " ", w.Pool, " ", w.Attempts, " ", w.UnschedulablePlugins == fit, " ", end))
		return true
	})
	if want := []string{"b active 1 false none", "c active 1 true none", "a backoff 1 true 2s"}; !slices.Equal(got, want) {
		t.Fatalf("got %q, want %q", got, want)
	}
}
