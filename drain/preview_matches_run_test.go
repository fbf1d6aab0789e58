package drain_test

import (
	"errors"
	"fmt"
	"math/rand"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/berthproject/berth/drain"
	"github.com/berthproject/berth/engine/preemption"
	"github.com/berthproject/berth/engine/scheduling"
	"github.com/berthproject/berth/sim"
	"github.com/berthproject/berth/sim/cluster"
	"github.com/berthproject/berth/sim/drainactor"
	"github.com/berthproject/berth/sim/script"
	"github.com/berthproject/berth/sim/store"
)

const (
	drainStart        = 2 * time.Minute  // the cluster is idle by then
	drainTimeout      = 30 * time.Minute // of drains that wait for budgets that never change
	simulationTimeout = time.Hour
	maxSteps          = 1_000_000 // stops a simulation that does not end
)

// TestPreviewMatchesRunSoak checks in random clusters that a drain has the result that --what-if previews, pod for pod
// and node for node. Termination times and watch delays are random. The few results that the preview marks as uncertain
// are not compared. BERTH_CLUSTERS sets the number of clusters and BERTH_SEED the first seed.
func TestPreviewMatchesRunSoak(t *testing.T) {
	n, first := envNumber(t, "BERTH_CLUSTERS", 0), envNumber(t, "BERTH_SEED", 1)
	deadline := time.Time{}
	if n == 0 {
		n, deadline = 60, time.Now().Add(20*time.Second)
		if os.Getenv("BERTH_SOAK") != "" {
			n, deadline = 1000, time.Time{}
		}
	}
	var matched, pods, failures, preemptionLoops, uncertain, differing int
	count := map[drain.Outcome]int{}
	for i := range n {
		if failures >= 50 || !deadline.IsZero() && time.Now().After(deadline) {
			break
		}
		preview, actual, err := previewAndDrain(first + i)
		if errors.Is(err, drain.ErrPreemptionLoop) {
			preemptionLoops++
			continue
		}
		if err == nil {
			err = compareResults(preview, actual)
		}
		if err != nil {
			failures++
			t.Errorf("seed %d (reproduce with BERTH_SEED=%d BERTH_CLUSTERS=1): %v", first+i, first+i, err)
			continue
		}
		matched++
		pods += len(actual.Pods)
		for j := range actual.Pods {
			count[actual.Pods[j].Outcome]++
		}
		for j := range preview.Pods {
			if preview.Pods[j].Uncertain {
				uncertain++
			}
		}
		if lines(preview, nil) != lines(actual, nil) {
			differing++
		}
	}
	if limit := 20 + pods/20; uncertain > limit {
		t.Errorf("%d of %d pods are uncertain, want at most %d", uncertain, pods, limit)
	}
	fmt.Printf("soak: drains of %d random clusters matched the preview, %d did not, in %d preemption does not end; of %d pods %d moved, %d were pending, %d were blocked; %d were marked as uncertain, and in %d clusters some of these differed\n",
		matched, failures, preemptionLoops, pods, count[drain.OutcomeMoved], count[drain.OutcomePending], count[drain.OutcomeBlocked], uncertain, differing)
}

// envNumber returns the positive number in an environment variable, or fallback if it is not set.
func envNumber(t *testing.T, name string, fallback int64) int64 {
	s := os.Getenv(name)
	if s == "" {
		return fallback
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n < 1 {
		t.Fatalf("%s=%s: want an integer of at least 1", name, s)
	}
	return n
}

// previewAndDrain previews the drain of a cluster and then performs it.
func previewAndDrain(seed int64) (preview, actual *drain.Result, err error) {
	d := generate(seed)
	o, err := cluster.Defaults()
	if err != nil {
		return nil, nil, err
	}
	s, err := script.Parse("cluster", d.text())
	if err != nil {
		return nil, nil, err
	}
	a := &actor{r: rand.New(rand.NewSource(seed)), nodes: d.drain, options: drain.Options{IgnoreDaemonSets: true}}
	s.Configure(&o)
	a.scheduler = drain.Scheduler{Profiles: o.Profiles, Seed: o.TieBreakSeed, Preemption: preemption.Defaults(), Machine: scheduling.DefaultConfig()}
	if os.Getenv("BERTH_TRACE") != "" { // print the scenario and its timeline
		fmt.Println(d.text(), "drain", d.drain)
		o.OnLine = func(l sim.Line) { fmt.Println(l) }
	}
	o.Stop = func() bool {
		if a.cluster.Steps() > maxSteps {
			a.err = fmt.Errorf("the simulation made %d steps until %v", a.cluster.Steps(), a.cluster.Elapsed())
		}
		return a.result != nil || a.err != nil
	}
	defer func() { a.cluster.Close() }()
	result, err := s.RunOn(o, simulationTimeout, func(c *cluster.Cluster) error {
		a.cluster = c
		c.At(drainStart, a.begin)
		return nil
	})
	switch {
	case err != nil:
		return nil, nil, err
	case result.Violation != nil:
		return nil, nil, result.Violation
	case a.err != nil:
		return nil, nil, a.err
	case a.result == nil:
		return nil, nil, fmt.Errorf("the drain has not ended after %v", simulationTimeout)
	}
	return a.preview, a.result, nil
}

// actor previews a drain of a simulated cluster and starts it.
type actor struct {
	cluster   *cluster.Cluster
	r         *rand.Rand
	nodes     []string
	options   drain.Options
	scheduler drain.Scheduler
	preview   *drain.Result
	result    *drain.Result
	err       error
}

func (a *actor) begin() {
	var objects []runtime.Object
	for _, k := range store.SchedulingKinds {
		for _, o := range a.cluster.API().List(k) {
			objects = append(objects, o)
		}
	}
	c := drain.Cluster{Now: a.cluster.Now(), Scheduler: a.scheduler}
	c.AddObjects(objects)
	if a.preview, a.err = drain.Preview(c, a.nodes, a.options); a.err != nil {
		return
	}
	drainactor.Start(a.cluster.World, drain.Drain{Nodes: a.nodes, Options: a.options, Scheduler: a.scheduler, Timeout: drainTimeout}, func(r *drain.Result) { a.result = r })
	a.cluster.SetWatchLag(drainactor.Actor, time.Duration(1+a.r.Intn(900))*time.Millisecond)
}

// compareResults returns an error if the certain parts of two results differ.
func compareResults(preview, actual *drain.Result) error {
	uncertain := map[string]bool{}
	for i := range preview.Pods {
		if p := &preview.Pods[i]; p.Uncertain {
			uncertain[p.Pod] = true
		}
	}
	want, got := lines(preview, uncertain), lines(actual, uncertain)
	if want == got && (len(uncertain) > 0 || preview.ExitCode() == actual.ExitCode()) {
		return nil
	}
	if os.Getenv("BERTH_TRACE") != "" {
		want += fmt.Sprintf("preempted: %v", preview.Preempted)
	}
	return fmt.Errorf("got (exit %d)\n%s\nwant as previewed (exit %d)\n%s", actual.ExitCode(), got, preview.ExitCode(), want)
}

// lines describes the results of all pods except those in exclude.
func lines(r *drain.Result, exclude map[string]bool) string {
	var b strings.Builder
	for i := range r.Pods {
		p := &r.Pods[i]
		if exclude[p.Pod] {
			continue
		}
		fmt.Fprintf(&b, "  %s %s %s round=%d", p.Pod, p.Outcome, p.To, p.Round)
		if p.Block != nil {
			fmt.Fprintf(&b, " %s %s permanent=%v", p.Block.Kind, p.Block.Budget, p.Block.Permanent)
		}
		if p.FirstBlock != nil && os.Getenv("BERTH_TRACE") != "" {
			fmt.Fprintf(&b, " first blocked by %s %s: %s, until %s", p.FirstBlock.Kind, p.FirstBlock.Budget, p.FirstBlock.Reason, p.FirstBlock.ClearedBy)
		}
		b.WriteString("\n")
	}
	return b.String()
}
