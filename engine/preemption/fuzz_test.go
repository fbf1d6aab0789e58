package preemption_test

import (
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/preemption"
)

// TestFuzzPlannerEqualsReference compares the planner with the reference evaluator on clusters that
// change between decisions.
func TestFuzzPlannerEqualsReference(t *testing.T) {
	trials := 150
	if os.Getenv("BERTH_SOAK") != "" {
		trials = 10000
	}
	var counts resultCounts
	for seed := range uint64(trials) {
		compareOnRandomCluster(t, seed, &counts)
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
	t.Logf("soak: %d clusters, %+v", trials, counts)
	if counts.plans < 15*trials || counts.nominated < counts.plans/10 || counts.cached < counts.plans/8 || counts.debits == 0 || counts.waits == 0 || counts.violations == 0 {
		t.Errorf("%+v; want at least %d plans, %d nominated, %d cached, and some debits, waits and violations", counts, 15*trials, counts.plans/10, counts.plans/8)
	}
}

// TestFuzzPlannerTracksChanges compares the planner with the reference evaluator for recurring
// preemptors.
func TestFuzzPlannerTracksChanges(t *testing.T) {
	trials := 400
	if os.Getenv("BERTH_SOAK") != "" {
		trials = 10000
	}
	var counts resultCounts
	for seed := range uint64(trials) {
		compareOnEvenCluster(t, seed, &counts)
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
	t.Logf("soak: %d clusters, %+v", trials, counts)
	if counts.cached < counts.plans/2 || counts.violations < counts.plans/200 || counts.debits < counts.plans/20 {
		t.Errorf("%+v; want at least %d cached, %d violations and %d debits", counts, counts.plans/2, counts.plans/200, counts.plans/20)
	}
}

func compareOnEvenCluster(t *testing.T, seed uint64, counts *resultCounts) {
	c, specs := newEvenCluster(seed)
	p := profile()
	o := preemption.Options{LedgerBudgets: c.chance(0.7), PreferMovable: c.chance(0.5)}
	planner := preemption.NewPlanner(c.state, p, seed, o)
	withHold := c.chance(0.3)
	for step := range 40 {
		for range c.IntN(3) {
			c.change()
		}
		pod := c.pod()
		pod.Spec, pod.Owner = pick(c, specs...), model.Owner{}
		if withHold {
			c.changeHoldFor(specs)
			pod.Owner = model.Owner{UID: pick(c, "web", "db", "")}
		}
		pod.Labels, pod.Namespace = nil, "default"
		want, summary := referenceResult(c.state, p, seed, o, pod)
		if want == nil {
			continue
		}
		got := planner.Plan(pod, summary)
		counts.add(got)
		if !reflect.DeepEqual(got, withoutCounts(want.Preemption)) {
			t.Errorf("step %d, %+v, priority %d\n got  %s\n want %s", step, o, pod.Spec.Priority, format(got), format(&want.Preemption))
			return
		}
	}
	counts.cached += planner.Counters().Cached
}

type resultCounts struct{ plans, nominated, cached, fullDryRuns, debits, waits, violations, clears int }

func compareOnRandomCluster(t *testing.T, seed uint64, counts *resultCounts) {
	c := newRandomCluster(seed)
	p := profile()
	o := preemption.Options{LedgerBudgets: c.chance(0.6), PreferMovable: c.chance(0.6)}
	planner := preemption.NewPlanner(c.state, p, seed, o)
	var previous []*model.Pod // preemptors to repeat
	for step := range 40 {
		for range c.IntN(4) {
			c.change()
		}
		pod := c.addPending()
		if len(previous) > 0 && c.chance(0.7) {
			repeated := *pod
			repeated.Spec, repeated.Labels = pick(c, previous...).Spec, model.LabelsOf(map[string]string{"app": pick(c, "a", "b")})
			c.state.UpsertPod(&repeated)
			c.pods[len(c.pods)-1], pod = &repeated, &repeated
		}
		previous = append(previous, pod)
		want, summary := referenceResult(c.state, p, seed, o, pod)
		if want == nil {
			continue
		}
		got := planner.Plan(pod, summary)
		counts.add(got)
		if !reflect.DeepEqual(got, withoutCounts(want.Preemption)) {
			t.Errorf("step %d, %+v, pod %s priority %d nominated %q\n got  %s\n want %s", step, o, pod.Name, pod.Spec.Priority, pod.NominatedNodeName, format(got), format(&want.Preemption))
			return
		}
	}
	counts.cached += planner.Counters().Cached
	counts.fullDryRuns += planner.Counters().FullDryRun
}

func (c *resultCounts) add(p *decision.Preemption) {
	c.plans++
	c.debits += len(p.Debits)
	switch p.Outcome {
	case decision.PreemptionNominated:
		c.nominated++
	case decision.PreemptionVictimsTerminating:
		c.waits++
	}
	if p.Violations > 0 {
		c.violations++
	}
	if p.ClearNomination {
		c.clears++
	}
}

// format returns a preemption as text.
func format(p *decision.Preemption) string {
	var names []string
	for _, v := range p.Victims {
		names = append(names, v.Key())
	}
	q := *p
	q.Victims = nil
	return fmt.Sprintf("%s %s %+v", p.Outcome, strings.Join(names, ","), q)
}
