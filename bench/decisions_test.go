package bench

import (
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/berthproject/berth/engine/cluster"
	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/placement/fastpath"
	"github.com/berthproject/berth/engine/placement/framework"
)

// bench is a cluster under load.
type bench struct {
	state   *cluster.State
	engine  *fastpath.Engine
	apps    []app
	bound   []string // UIDs of pods on nodes, oldest first
	serial  int
	maxPods int  // maximum number of pods on nodes
	churn   bool // see the package documentation
	rand    *rand.Rand
	out     decision.Summary
}

// decideNext decides about the next pod and assumes it on its node. It returns the wall-clock time of
// the decision.
func (b *bench) decideNext(t testing.TB) time.Duration { return b.decideTimed(t, wallClock) }

// decideTimed does the same as decideNext with another clock.
func (b *bench) decideTimed(t testing.TB, now func() time.Duration) time.Duration {
	a := b.apps[b.serial%len(b.apps)]
	b.serial++
	p := a.pod(b.serial)
	if b.churn {
		heartbeat(b.state, b.rand.IntN(1<<20))
		if b.serial%100 == 0 {
			relabel(b.state, b.rand.IntN(1<<20))
		}
	}
	start := now()
	b.engine.Decide(p, &b.out)
	elapsed := now() - start
	if b.out.Outcome == decision.Scheduled {
		if err := b.state.Assume(p, b.out.Choice); err != nil {
			t.Fatal(err)
		}
		b.bound = append(b.bound, p.UID)
	}
	for len(b.bound) > b.maxPods {
		i := 0
		if b.churn {
			i = b.rand.IntN(len(b.bound))
		}
		b.state.RemovePod(b.bound[i])
		b.bound[i] = b.bound[0]
		b.bound = b.bound[1:]
	}
	return elapsed
}

var processStart = time.Now()

func wallClock() time.Duration { return time.Since(processStart) }

// clockOverhead returns the median time between two consecutive readings of a clock.
func clockOverhead(now func() time.Duration) time.Duration {
	durations := make([]time.Duration, 2001)
	for i := range durations {
		start := now()
		durations[i] = now() - start
	}
	slices.Sort(durations)
	return durations[len(durations)/2]
}

// timings are the measurements of a row. The percentiles are of the wall-clock time. The mean is of the CPU
// time of the thread, which does not include other work of the machine.
type timings struct {
	p10, median, mean, p99 time.Duration
	allocs                 float64 // allocations per decision
}

// measure measures n decisions after a warm-up that fills the score caches.
func (b *bench) measure(t testing.TB, n int) timings {
	for range min(4*len(b.apps)+b.maxPods/4, 20000) {
		b.decideNext(t)
	}
	result := b.percentiles(t, n)
	result.mean = b.mean(t, n)
	result.allocs = b.allocations(300)
	return result
}

// mean returns the mean CPU time of n decisions.
func (b *bench) mean(t testing.TB, n int) time.Duration {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var sum time.Duration
	overhead := clockOverhead(threadCPUTime)
	for range n {
		sum += b.decideTimed(t, threadCPUTime) - overhead
	}
	return max(sum, 0) / time.Duration(n)
}

// percentiles returns percentiles of the wall-clock time of n decisions.
func (b *bench) percentiles(t testing.TB, n int) timings {
	overhead := clockOverhead(wallClock)
	durations := make([]time.Duration, 0, n)
	for range n {
		durations = append(durations, max(b.decideNext(t)-overhead, 0))
	}
	slices.Sort(durations)
	return timings{p10: durations[n/10], median: durations[n/2], p99: durations[n*99/100]}
}

// allocations returns the mean number of allocations of n decisions. Other work between them is not counted.
func (b *bench) allocations(n int) float64 {
	var before, after runtime.MemStats
	var sum uint64
	for range n {
		p := b.apps[b.serial%len(b.apps)].pod(b.serial)
		b.serial++
		runtime.ReadMemStats(&before)
		b.engine.Decide(p, &b.out)
		runtime.ReadMemStats(&after)
		sum += after.Mallocs - before.Mallocs
		if b.out.Outcome == decision.Scheduled && b.state.Assume(p, b.out.Choice) == nil {
			b.bound = append(b.bound, p.UID)
		}
	}
	return float64(sum) / float64(n)
}

// newBench returns a cluster with the given number of nodes and apps. The apps have alternating kinds.
func newBench(t testing.TB, nodes, numApps int, churn bool, kinds ...podKind) *bench {
	p, err := framework.NewProfile(framework.DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{state: mixedCluster(nodes), churn: churn, maxPods: 4 * nodes, rand: rand.New(rand.NewPCG(3, 4))}
	b.apps = apps(b.state, numApps, kinds...)
	b.engine = fastpath.NewEngine(b.state, p, 1)
	return b
}

// measureFirstDecision measures n decisions, each about a pod of a new equivalence class.
func measureFirstDecision(t testing.TB, nodes, n int, k podKind) timings {
	b := newBench(t, nodes, 1, false, plainKind)
	for range nodes {
		b.decideNext(t)
	}
	all := apps(b.state, 2*n, k)
	b.apps = all[:n] // each of n decisions is about another app
	result := b.percentiles(t, n)
	b.apps = all[n:]
	result.mean = b.mean(t, n)
	return result
}

// report reports the timings in microseconds.
func (f timings) report(b *testing.B) {
	us := func(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1000 }
	b.ReportMetric(0, "ns/op") // meaningless, as it includes the time between decisions
	b.ReportMetric(us(f.p10), "us-p10")
	b.ReportMetric(us(f.median), "us-median")
	b.ReportMetric(us(f.mean), "us-mean")
	b.ReportMetric(us(f.p99), "us-p99")
	b.ReportMetric(f.allocs, "allocs")
}
