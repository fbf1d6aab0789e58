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

// toys is a world for kinds: which nodes take which of them.
type toys struct {
	open   [3][4]bool // by node and kind
	shifts int        // what a pod's kind is depends on it
}

func (w *toys) kind(uid string) (any, Kind) {
	k := (int(uid[1])*10 + int(uid[2]) + w.shifts) % 4
	return k, &toyKind{w, k}
}

type toyKind struct {
	w *toys
	k int
}

// toyChange is about one node, or about everything for one kind.
type toyChange struct{ node, anywhere int }

func (t *toyKind) Cares(r decision.RuleSet) decision.Change { return cares(r) }

func (t *toyKind) Helps(r decision.RuleSet, d *decision.Delta) (decision.Help, string, decision.RuleSet) {
	c := d.New.(*toyChange)
	if c.anywhere == t.k || r == 0 {
		return decision.HelpsAnywhere, "", 0
	}
	if may, also := t.Still(r, fmt.Sprint(c.node)); !may {
		return decision.Helpless, "", also
	}
	return decision.HelpsAt, fmt.Sprint(c.node), 0
}

func (t *toyKind) Still(_ decision.RuleSet, node string) (bool, decision.RuleSet) {
	if n := int(node[0] - '0'); t.w.open[n][t.k] {
		return true, 0
	} else if n == 1 {
		return false, 1 << decision.TaintToleration
	}
	return false, 1 << decision.NodeResourcesFit
}

// FuzzQueue drives the queue and its twin with the same random life.
func FuzzQueue(f *testing.F) {
	for seed := range int64(60) {
		f.Add(seed, uint16(300))
	}
	f.Fuzz(func(t *testing.T, seed int64, steps uint16) {
		compare(t, rand.New(rand.NewSource(seed)), int(steps%2000))
	})
}

func TestQueueEqualsTwinOnLongLives(t *testing.T) {
	for seed := range int64(40) {
		compare(t, rand.New(rand.NewSource(1000+seed)), 5000)
	}
}

func compare(t *testing.T, r *rand.Rand, steps int) {
	cfg := DefaultConfig()
	cfg.Cares = cares
	toy := &toys{}
	if r.Intn(4) > 0 {
		cfg.Kind = toy.kind
	}
	cfg.InitialBackoff *= time.Duration(r.Intn(3))
	q, w := New(cfg), &twin{cfg: cfg}
	now := time.Unix(1000, 0)
	for step := range steps {
		what := act(r, q, w, toy, now)
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
func act(r *rand.Rand, q *Queue, w *twin, toy *toys, now time.Time) string {
	n := r.Intn(30)
	p := Pod{UID: fmt.Sprintf("u%02d", n), Namespace: "ns", Name: fmt.Sprintf("p%02d", 99-n), Priority: int32(r.Intn(3))}
	if q.cfg.Kind != nil {
		p.Priority = 0 // pods of a kind are of one priority
	}
	rules := someRules[r.Intn(len(someRules))]
	switch r.Intn(16) {
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
		w.reject(now, p.UID, rules)
		return "reject " + p.UID
	case 10:
		q.Fail(now, p.UID)
		w.fail(now, p.UID)
		return "fail " + p.UID
	case 11:
		q.Granted(p.UID)
		w.grant(p.UID)
		return "grant " + p.UID
	case 12:
		q.Activate(now, p.UID)
		w.activate(now, p.UID)
		return "activate " + p.UID
	case 13:
		if r.Intn(10) == 0 {
			toy.shifts++
			q.Regroup(now)
			w.regroup(now)
			return "regroup"
		}
	}
	toy.open[r.Intn(3)][r.Intn(4)] = r.Intn(3) == 0
	d := decision.Delta{Kinds: decision.Change(1) << r.Intn(decision.NumChanges), New: &toyChange{r.Intn(3), r.Intn(12)}}
	q.Changed(now, d)
	w.changed(now, d)
	return fmt.Sprintf("change %b %+v", d.Kinds, d.New)
}
