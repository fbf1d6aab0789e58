package queue

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/berthproject/berth/engine/decision"
)

// toyQueue has pods of one kind that wait, the first of them longest, and a node
// that any of them may fit.
func toyQueue(pods int) (*Queue, *toys, decision.Delta) {
	toy := &toys{shifts: 0}
	toy.open[0] = [4]bool{true, true, true, true}
	cfg := DefaultConfig()
	cfg.Kind = func(string) (any, Kind) { return 0, &toyKind{toy, 0} }
	q := New(cfg)
	for i := range pods {
		uid := fmt.Sprintf("u%02d", i)
		now := after(time.Duration(i) * time.Second)
		q.Enter(now, Pod{UID: uid, Namespace: "ns", Name: uid})
		q.Next(now)
		q.Reject(now, uid, fit)
	}
	return q, toy, decision.Delta{Kinds: decision.PodRemoved, New: &toyChange{node: 0, anywhere: -1}}
}

func TestOneOfAKindIsWokenAndTheNextWhenItFits(t *testing.T) {
	q, _, d := toyQueue(3)
	now := after(time.Minute)
	q.Changed(now, d)
	if got := q.Depths(); got.Active != 1 || got.Unschedulable != 2 {
		t.Fatalf("woken: %+v", got)
	}
	for _, want := range []string{"u00", "u01"} {
		if got := next(q, now); got != want {
			t.Fatalf("next is %q, want %q", got, want)
		}
		q.Granted(want)
	}
	if got := next(q, now); got != "u02" {
		t.Fatalf("next is %q", got)
	}
	q.Reject(now, "u02", fit)
	if got := q.Depths(); got.Unschedulable != 1 || got.InFlight != 2 {
		t.Fatalf("at the end: %+v", got)
	}
}

func TestARejectionSpeaksForAllOfItsKind(t *testing.T) {
	q, _, d := toyQueue(3)
	now := after(time.Minute)
	q.Changed(now, d)
	next(q, now)
	q.Reject(now, "u00", fit)
	if got := q.Depths(); got.Unschedulable != 3 {
		t.Fatalf("after one rejection: %+v", got)
	}
	q.Changed(now, d)
	if got := next(q, now); got != "u01" {
		t.Errorf("the next change wakes %q, want who was tried least lately", got)
	}
}

func TestWhoseChanceIsGoneSleepsOnWithoutADecision(t *testing.T) {
	q, toy, d := toyQueue(2)
	now := after(time.Minute)
	q.Changed(now, d)
	toy.open[0][0] = false // somebody else has taken the room
	if got := next(q, now); got != "" {
		t.Fatalf("%q is tried", got)
	}
	if got := q.Depths(); got.Unschedulable != 2 || q.Counts().Lulled != 1 {
		t.Errorf("%+v, %+v", got, q.Counts())
	}
}

func TestManyChangesInFlightAreRememberedByKind(t *testing.T) {
	for _, c := range []struct {
		kind decision.Change
		want Pool
	}{{decision.NodeTaints, Unschedulable}, {decision.NodeAllocatable, Backoff}} {
		q, _, _ := toyQueue(1)
		q.Enter(after(time.Minute), Pod{UID: "u09", Namespace: "ns", Name: "u09"})
		next(q, after(time.Minute))
		for range 2 * manyChanges {
			q.Changed(after(time.Minute), decision.Delta{Kinds: c.kind, New: &toyChange{node: 2, anywhere: -1}})
		}
		q.Reject(after(time.Minute), "u09", fit)
		if got := q.Where("u09"); got != c.want {
			t.Errorf("after changes of kind %b: %v, want %v", c.kind, got, c.want)
		}
	}
}

func TestActivateSkipsBackoffAndIsListed(t *testing.T) {
	q := testQueue()
	for _, uid := range []string{"a", "b", "c"} {
		q.Enter(t0, Pod{UID: uid, Namespace: "ns", Name: uid})
		next(q, t0)
	}
	q.Reject(t0, "a", fit)
	q.Fail(t0, "b")
	q.Reject(t0, "c", fit)
	q.Activate(t0, "b")
	q.Changed(t0, decision.Delta{Kinds: decision.NodeAdded})
	q.Activate(t0, "c")
	var got []string
	q.Waiting(func(w Waiting) bool {
		end := "none"
		if !w.BackoffEnd.IsZero() {
			end = w.BackoffEnd.Sub(t0).String()
		}
		got = append(got, fmt.Sprint(w.UID, " ", w.Pool, " ", w.Attempts, " ", w.Rules == fit, " ", end))
		return true
	})
	if want := []string{"b active 1 false none", "c active 1 true none", "a backoff 1 true 2s"}; !slices.Equal(got, want) {
		t.Fatalf("got %q, want %q", got, want)
	}
}
