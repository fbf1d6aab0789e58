package queue

import (
	"fmt"
	"math/rand"
	"testing"
	"time"

	"github.com/berthproject/berth/engine/decision"
)

// cares is a small table in the shape of the real one.
func cares(rules decision.RuleSet) decision.Change {
	if rules == 0 {
		return decision.AnyChange
	}
	var c decision.Change
	if rules.Has(decision.NodeResourcesFit) {
		c |= decision.NodeAdded | decision.NodeAllocatable | decision.PodRemoved
	}
	if rules.Has(decision.TaintToleration) {
		c |= decision.NodeAdded | decision.NodeTaints
	}
	return c
}

var someRules = []decision.RuleSet{0, 1 << decision.NodeResourcesFit, 1 << decision.TaintToleration,
	1<<decision.NodeResourcesFit | 1<<decision.TaintToleration}

// FuzzQueue drives the queue and its twin with the same random life.
func FuzzQueue(f *testing.F) {
	for seed := range int64(40) {
		f.Add(seed, uint16(300))
	}
	f.Fuzz(func(t *testing.T, seed int64, steps uint16) {
		compare(t, rand.New(rand.NewSource(seed)), int(steps%2000))
	})
}

func TestQueueEqualsTwinOnLongLives(t *testing.T) {
	for seed := range int64(20) {
		compare(t, rand.New(rand.NewSource(1000+seed)), 5000)
	}
}

func compare(t *testing.T, r *rand.Rand, steps int) {
	cfg := DefaultConfig()
	cfg.Cares = cares
	cfg.InitialBackoff *= time.Duration(r.Intn(3))
	q, w := New(cfg), &twin{cfg: cfg}
	now := time.Unix(1000, 0)
	for step := range steps {
		what := act(r, q, w, now)
		for _, rec := range w.pods {
			if got := q.Where(rec.UID); got != rec.place {
				t.Fatalf("step %d (%s): %s is in %v, twin says %v", step, what, rec.UID, got, rec.place)
			}
		}
		if len(q.pods) != len(w.pods) {
			t.Fatalf("step %d (%s): %d pods, twin has %d", step, what, len(q.pods), len(w.pods))
		}
		if got, want := q.Wake(now), w.wakeTime(now); !got.Equal(want) {
			t.Fatalf("step %d (%s): wake at %v, twin says %v", step, what, got, want)
		}
		now = now.Add([]time.Duration{0, 0, 100 * time.Millisecond, time.Second, 20 * time.Second}[r.Intn(5)])
	}
	d := q.Depths()
	if sum := d.Active + d.Backoff + d.Unschedulable + d.Gated + d.InFlight; sum != len(w.pods) {
		t.Fatalf("depths %+v add up to %d, not to %d", d, sum, len(w.pods))
	}
}

// act does one random thing to both and says what.
func act(r *rand.Rand, q *Queue, w *twin, now time.Time) string {
	n := r.Intn(30)
	p := Pod{UID: fmt.Sprintf("u%02d", n), Key: fmt.Sprintf("ns/p%02d", 99-n), Priority: int32(r.Intn(3))}
	rules := someRules[r.Intn(len(someRules))]
	switch r.Intn(12) {
	case 0, 1:
		q.Enter(now, p)
		w.enter(now, p)
		return "enter " + p.UID
	case 2:
		q.EnterGated(now, p, decision.SchedulingGates)
		w.enterGated(now, p, decision.SchedulingGates)
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
		a, ok := q.Next(now)
		b, okTwin := w.next(now)
		if a.UID != b.UID || ok != okTwin || a.Number != b.Number {
			return fmt.Sprintf("next gave %+v %v, twin %+v %v", a, ok, b, okTwin)
		}
		return "next " + a.UID
	case 8, 9:
		q.Reject(now, p.UID, rules)
		w.giveBack(now, p.UID, rules, false)
		return "reject " + p.UID
	case 10:
		q.Fail(now, p.UID)
		w.giveBack(now, p.UID, 0, true)
		return "fail " + p.UID
	default:
		c := decision.Change(1) << r.Intn(decision.NumChanges)
		q.Changed(now, c)
		w.changed(now, c)
		return fmt.Sprintf("change %b", c)
	}
}
