package bench

import (
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/berthproject/berth/engine/cluster"
	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/placement"
)

// bench is a cluster under load.
type bench struct {
	s      *cluster.State
	e      *placement.Engine
	apps   []app
	placed []string // uids, oldest first
	serial int
	hold   int // pods that stay
	churn  bool
	r      *rand.Rand
	out    decision.Summary
}

// one decides about the next pod and places it, timing the decision alone.
func (b *bench) one(t testing.TB) time.Duration {
	a := b.apps[b.serial%len(b.apps)]
	b.serial++
	p := a.pod(b.serial)
	if b.churn {
		heartbeat(b.s, b.r.IntN(1<<20))
		if b.serial%100 == 0 {
			relabel(b.s, b.r.IntN(1<<20))
		}
	}
	from := time.Now()
	b.e.Decide(p, &b.out)
	took := time.Since(from)
	if b.out.Outcome == decision.Scheduled {
		if err := b.s.Assume(p, b.out.Choice); err != nil {
			t.Fatal(err)
		}
		b.placed = append(b.placed, p.UID)
	}
	for len(b.placed) > b.hold {
		i := 0
		if b.churn {
			i = b.r.IntN(len(b.placed))
		}
		b.s.RemovePod(b.placed[i])
		b.placed[i] = b.placed[0]
		b.placed = b.placed[1:]
	}
	return took
}

// clock is what reading the clock twice takes.
func clock() time.Duration {
	all := make([]time.Duration, 2001)
	for i := range all {
		from := time.Now()
		all[i] = time.Since(from)
	}
	slices.Sort(all)
	return all[len(all)/2]
}

// figures of a row.
type figures struct {
	p10, median, mean, p99 time.Duration
	allocs                 float64
}

// measure takes n decisions, after as many as it takes for views to be there.
func (b *bench) measure(t testing.TB, n int) figures {
	for range min(4*len(b.apps)+b.hold/4, 20000) {
		b.one(t)
	}
	f := b.take(t, n)
	f.allocs = b.allocations(300)
	return f
}

func (b *bench) take(t testing.TB, n int) figures {
	own := clock()
	took := make([]time.Duration, 0, n)
	var sum time.Duration
	for range n {
		d := max(b.one(t)-own, 0)
		took = append(took, d)
		sum += d
	}
	slices.Sort(took)
	return figures{p10: took[n/10], median: took[n/2], mean: sum / time.Duration(n), p99: took[n*99/100]}
}

// allocations counts those of decisions alone.
func (b *bench) allocations(n int) float64 {
	var before, after runtime.MemStats
	var sum uint64
	for range n {
		p := b.apps[b.serial%len(b.apps)].pod(b.serial)
		b.serial++
		runtime.ReadMemStats(&before)
		b.e.Decide(p, &b.out)
		runtime.ReadMemStats(&after)
		sum += after.Mallocs - before.Mallocs
		if b.out.Outcome == decision.Scheduled && b.s.Assume(p, b.out.Choice) == nil {
			b.placed = append(b.placed, p.UID)
		}
	}
	return float64(sum) / float64(n)
}

func newBench(t testing.TB, nodes, shapes int, churn bool, kinds ...kind) *bench {
	p, err := placement.NewProfile(placement.DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{s: mixed(nodes), churn: churn, hold: 4 * nodes, r: rand.New(rand.NewPCG(3, 4))}
	b.apps = apps(b.s, shapes, kinds...)
	b.e = placement.NewEngine(b.s, p, 1)
	return b
}

// first measures pods of shapes never seen before.
func first(t testing.TB, nodes, n int, k kind) figures {
	b := newBench(t, nodes, 1, false, plainKind)
	for range nodes {
		b.one(t)
	}
	b.apps = apps(b.s, n, k)
	return b.take(t, n)
}

// report gives the figures to a benchmark, in microseconds.
func (f figures) report(b *testing.B) {
	us := func(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1000 }
	b.ReportMetric(0, "ns/op") // says nothing here: it counts what is between decisions
	b.ReportMetric(us(f.p10), "us-p10")
	b.ReportMetric(us(f.median), "us-median")
	b.ReportMetric(us(f.mean), "us-mean")
	b.ReportMetric(us(f.p99), "us-p99")
	b.ReportMetric(f.allocs, "allocs")
}
