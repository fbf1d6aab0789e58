package queue

import (
	"fmt"
	"math/rand"
	"testing"
	"time"

	"github.com/berthproject/berth/engine/decision"
)

// eventsFor returns the events that a set of plugins registers.
func eventsFor(plugins decision.PluginSet) decision.ClusterEvents {
	if plugins == 0 {
		return decision.AnyEvent
	}
	var events decision.ClusterEvents
	if plugins.Has(decision.NodeResourcesFit) {
		events |= decision.NodeAdded | decision.NodeAllocatableChanged | decision.PodRemoved
	}
	if plugins.Has(decision.TaintToleration) {
		events |= decision.NodeAdded | decision.NodeTaintsChanged
	}
	return events
}

var pluginSets = []decision.PluginSet{0, 1 << decision.NodeResourcesFit, 1 << decision.TaintToleration,
	1<<decision.NodeResourcesFit | 1<<decision.TaintToleration}

// hintTable determines which nodes fit which groups.
type hintTable struct {
	fits   [3][4]bool // by node and group
	shifts int        // determines the group of a pod
}

func (h *hintTable) hintsOf(uid string) (any, QueueingHints) {
	group := (int(uid[1])*10 + int(uid[2]) + h.shifts) % 4
	return group, &fakeHints{h, group}
}

// fakeHints are the hints of a group.
type fakeHints struct {
	table *hintTable
	group int
}

// fakeEvent is an event of one node. For pods of anyNodeGroup, any node may fit after it.
type fakeEvent struct{ node, anyNodeGroup int }

func (h *fakeHints) EventsToRegister(plugins decision.PluginSet) decision.ClusterEvents {
	return eventsFor(plugins)
}

func (h *fakeHints) Hint(plugins decision.PluginSet, d *decision.Delta) (decision.QueueingHint, string, decision.PluginSet) {
	e := d.New.(*fakeEvent)
	if e.anyNodeGroup == h.group || plugins == 0 {
		return decision.QueueForAnyNode, "", 0
	}
	if fits, added := h.MayFit(fmt.Sprint(e.node)); !fits {
		return decision.QueueSkip, "", added
	}
	return decision.QueueForNode, fmt.Sprint(e.node), 0
}

func (h *fakeHints) MayFit(node string) (bool, decision.PluginSet) {
	if n := int(node[0] - '0'); h.table.fits[n][h.group] {
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
		compareWithReference(t, rand.New(rand.NewSource(seed)), int(steps%2000))
	})
}

func TestQueueEqualsReference(t *testing.T) {
	for seed := range int64(40) {
		compareWithReference(t, rand.New(rand.NewSource(1000+seed)), 5000)
	}
}

func compareWithReference(t *testing.T, r *rand.Rand, steps int) {
	cfg := DefaultConfig()
	cfg.EventsToRegister = eventsFor
	hints := &hintTable{}
	if r.Intn(4) > 0 {
		cfg.QueueingHints = hints.hintsOf
	}
	cfg.InitialBackoff *= time.Duration(r.Intn(3))
	q, ref := New(cfg), &referenceQueue{cfg: cfg}
	now := time.Unix(1000, 0)
	for step := range steps {
		operation, err := randomStep(r, q, ref, hints, now)
		if err != nil {
			t.Fatalf("step %d (%s): %v", step, operation, err)
		}
		for _, e := range ref.pods {
			if got := q.PoolOf(e.UID); got != e.pool {
				t.Fatalf("step %d (%s): %s is in %v, the reference has %v", step, operation, e.UID, got, e.pool)
			}
		}
		if len(q.pods) != len(ref.pods) {
			t.Fatalf("step %d (%s): %d pods, the reference has %d", step, operation, len(q.pods), len(ref.pods))
		}
		if got, want := q.NextWakeup(now), ref.nextWakeup(now); !got.Equal(want) {
			t.Fatalf("step %d (%s): next wake-up %v, the reference has %v", step, operation, got, want)
		}
		now = now.Add([]time.Duration{0, 0, 100 * time.Millisecond, time.Second, 20 * time.Second}[r.Intn(5)])
	}
	d := q.Depths()
	if sum := d.Active + d.Backoff + d.Unschedulable + d.Gated + d.InFlight; sum != len(ref.pods) {
		t.Fatalf("the depths %+v add up to %d, want %d", d, sum, len(ref.pods))
	}
}

// randomStep applies one random operation to both queues and returns its description. It returns an error if their
// results differ.
func randomStep(r *rand.Rand, q *Queue, ref *referenceQueue, hints *hintTable, now time.Time) (string, error) {
	n := r.Intn(30)
	p := Pod{UID: fmt.Sprintf("u%02d", n), Namespace: "ns", Name: fmt.Sprintf("p%02d", 99-n), Priority: int32(r.Intn(3))}
	if q.cfg.QueueingHints != nil {
		p.Priority = 0 // pods of a group have the same priority
	}
	plugins := pluginSets[r.Intn(len(pluginSets))]
	switch r.Intn(16) {
	case 0, 1:
		q.Add(now, p)
		ref.add(now, p)
		return "add " + p.UID, nil
	case 2:
		q.AddGated(now, p, decision.SchedulingGates)
		ref.addGated(now, p, decision.SchedulingGates)
		return "gate " + p.UID, nil
	case 3:
		requeue := r.Intn(2) == 0
		q.Update(now, p, requeue)
		ref.update(now, p, requeue)
		return "update " + p.UID, nil
	case 4:
		q.Remove(p.UID)
		ref.remove(p.UID)
		return "remove " + p.UID, nil
	case 5, 6, 7:
		a, ok := q.Pop(now)
		b, okReference := ref.pop(now)
		if a.UID != b.UID || ok != okReference || a.Attempts != b.Attempts {
			return "pop", fmt.Errorf("Pop returned %+v, %v; the reference returned %+v, %v", a, ok, b, okReference)
		}
		return "pop " + a.UID, nil
	case 8, 9:
		q.RequeueUnschedulable(now, p.UID, plugins)
		ref.requeueUnschedulable(now, p.UID, plugins)
		return "requeue unschedulable " + p.UID, nil
	case 10:
		q.RequeueFailed(now, p.UID)
		ref.requeueFailed(now, p.UID)
		return "requeue failed " + p.UID, nil
	case 11:
		q.MarkAssumed(p.UID)
		ref.markAssumed(p.UID)
		return "assume " + p.UID, nil
	case 12:
		q.Activate(now, p.UID)
		ref.activate(now, p.UID)
		return "activate " + p.UID, nil
	case 13:
		if r.Intn(10) == 0 {
			hints.shifts++
			q.Regroup(now)
			ref.regroup(now)
			return "regroup", nil
		}
	}
	hints.fits[r.Intn(3)][r.Intn(4)] = r.Intn(3) == 0
	d := decision.Delta{Events: decision.ClusterEvents(1) << r.Intn(decision.NumEvents), New: &fakeEvent{r.Intn(3), r.Intn(12)}}
	q.HandleEvent(now, d)
	ref.handleEvent(now, d)
	return fmt.Sprintf("event %b %+v", d.Events, d.New), nil
}
