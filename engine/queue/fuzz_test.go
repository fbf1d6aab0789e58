package queue

import (
	"fmt"
	"math/rand"
	"testing"
	"time"

	"github.com/berthproject/berth/engine/decision"
)

// eventsFor is a small table of registered events.
func eventsFor(plugins decision.PluginSet) decision.ClusterEvents {
	if plugins == 0 {
		return decision.AnyEvent
	}
	var c decision.ClusterEvents
	if plugins.Has(decision.NodeResourcesFit) {
		c |= decision.NodeAdded | decision.NodeAllocatableChanged | decision.PodRemoved
	}
	if plugins.Has(decision.TaintToleration) {
		c |= decision.NodeAdded | decision.NodeTaintsChanged
	}
	return c
}

var someRules = []decision.PluginSet{0, 1 << decision.NodeResourcesFit, 1 << decision.TaintToleration,
	1<<decision.NodeResourcesFit | 1<<decision.TaintToleration}

// hintTable determines which nodes fit which groups.
type hintTable struct {
	open   [3][4]bool // by node and group
	shifts int        // determines the group of a pod
}

func (w *hintTable) kind(uid string) (any, QueueingHints) {
	k := (int(uid[1])*10 + int(uid[2]) + w.shifts) % 4
	return k, &fakeHints{w, k}
}

type fakeHints struct {
	w *hintTable
	k int
}

// fakeEvent is about one node, or about all nodes for one group.
type fakeEvent struct{ node, anywhere int }

func (t *fakeHints) EventsToRegister(r decision.PluginSet) decision.ClusterEvents {
	return eventsFor(r)
}

func (t *fakeHints) Hint(r decision.PluginSet, d *decision.Delta) (decision.QueueingHint, string, decision.PluginSet) {
	c := d.New.(*fakeEvent)
	if c.anywhere == t.k || r == 0 {
		return decision.QueueForAnyNode, "", 0
	}
	if fits, also := t.MayFit(r, fmt.Sprint(c.node)); !fits {
		return decision.QueueSkip, "", also
	}
	return decision.QueueForNode, fmt.Sprint(c.node), 0
}

func (t *fakeHints) MayFit(_ decision.PluginSet, node string) (bool, decision.PluginSet) {
	if n := int(node[0] - '0'); t.w.open[n][t.k] {
		return true, 0
	} else if n == 1 {
		return false, 1 << decision.TaintToleration
	}
	return false, 1 << decision.NodeResourcesFit
}

// FuzzQueue compares the queue with the reference implementation under random operations.
func FuzzQueue(f *testing.F) {
	for seed := range int64(60) {
		f.Add(seed, uint16(300))
	}
	f.Fuzz(func(t *testing.T, seed int64, steps uint16) {
		compare(t, rand.New(rand.NewSource(seed)), int(steps%2000))
	})
}

func TestQueueEqualsReference(t *testing.T) {
	for seed := range int64(40) {
		compare(t, rand.New(rand.NewSource(1000+seed)), 5000)
	}
}

func compare(t *testing.T, r *rand.Rand, steps int) {
	cfg := DefaultConfig()
	cfg.EventsToRegister = eventsFor
	hints := &hintTable{}
	if r.Intn(4) > 0 {
		cfg.QueueingHints = hints.kind
	}
	cfg.InitialBackoff *= time.Duration(r.Intn(3))
	q, w := New(cfg), &referenceQueue{cfg: cfg}
	now := time.Unix(1000, 0)
	for step := range steps {
		operation := randomStep(r, q, w, hints, now)
		for _, rec := range w.pods {
			if got := q.PoolOf(rec.UID); got != rec.pool {
				t.Fatalf("step %d (%s): %s is in %v, the reference has %v", step, operation, rec.UID, got, rec.pool)
			}
		}
		if len(q.pods) != len(w.pods) {
			t.Fatalf("step %d (%s): %d pods, the reference has %d", step, operation, len(q.pods), len(w.pods))
		}
		if got, want := q.NextWakeup(now), w.nextWakeup(now); !got.Equal(want) {
			t.Fatalf("step %d (%s): next wake-up %v, the reference has %v", step, operation, got, want)
		}
		now = now.Add([]time.Duration{0, 0, 100 * time.Millisecond, time.Second, 20 * time.Second}[r.Intn(5)])
	}
	d := q.Depths()
	if sum := d.Active + d.Backoff + d.Unschedulable + d.Gated + d.InFlight; sum != len(w.pods) {
		t.Fatalf("depths %+v add up to %d, not to %d", d, sum, len(w.pods))
	}
}

// randomStep applies one random operation to both and returns its description.
func randomStep(r *rand.Rand, q *Queue, w *referenceQueue, hints *hintTable, now time.Time) string {
	n := r.Intn(30)
	p := Pod{UID: fmt.Sprintf("u%02d", n), Namespace: "ns", Name: fmt.Sprintf("p%02d", 99-n), Priority: int32(r.Intn(3))}
	if q.cfg.QueueingHints != nil {
		p.Priority = 0 // pods of a group have the same priority
	}
	plugins := someRules[r.Intn(len(someRules))]
	switch r.Intn(16) {
	case 0, 1:
		q.Add(now, p)
		w.add(now, p)
		return "enter " + p.UID
	case 2:
		q.AddGated(now, p, decision.SchedulingGates)
		w.addGated(now, p, decision.SchedulingGates)
		return "gate " + p.UID
	case 3:
		moves := r.Intn(2) == 0
		q.Update(now, p, moves)
		w.update(now, p, moves)
		return "update " + p.UID
	case 4:
		q.Remove(p.UID)
		w.remove(p.UID)
		return "remove " + p.UID
	case 5, 6, 7:
		a, ok := q.Pop(now)
		b, okReference := w.pop(now)
		if a.UID != b.UID || ok != okReference || a.Attempts != b.Attempts {
			return fmt.Sprintf("next gave %+v %v, reference %+v %v", a, ok, b, okReference)
		}
		return "next " + a.UID
	case 8, 9:
		q.RequeueUnschedulable(now, p.UID, plugins)
		w.requeueUnschedulable(now, p.UID, plugins)
		return "reject " + p.UID
	case 10:
		q.RequeueFailed(now, p.UID)
		w.requeueFailed(now, p.UID)
		return "fail " + p.UID
	case 11:
		q.MarkAssumed(p.UID)
		w.markAssumed(p.UID)
		return "grant " + p.UID
	case 12:
		q.Activate(now, p.UID)
		w.activate(now, p.UID)
		return "activate " + p.UID
	case 13:
		if r.Intn(10) == 0 {
			hints.shifts++
			q.Regroup(now)
			w.regroup(now)
			return "regroup"
		}
	}
	hints.open[r.Intn(3)][r.Intn(4)] = r.Intn(3) == 0
	d := decision.Delta{Events: decision.ClusterEvents(1) << r.Intn(decision.NumEvents), New: &fakeEvent{r.Intn(3), r.Intn(12)}}
	q.HandleEvent(now, d)
	w.handleEvent(now, d)
	return fmt.Sprintf("change %b %+v", d.Events, d.New)
}
