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
		fuzzWorld(t, seed, &counts)
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
	t.Logf("soak: %d worlds, %+v", trials, counts)
	if counts.plans < 15*trials || counts.nominated < counts.plans/10 || counts.cached < counts.plans/8 || counts.debits == 0 || counts.waits == 0 || counts.violations == 0 {
		t.Errorf("the cases do not cover what they should: %+v", counts)
	}
}

// TestFuzzPlannerTracksChanges is the same with recurring preemptors.
func TestFuzzPlannerTracksChanges(t *testing.T) {
	trials := 400
	if os.Getenv("BERTH_SOAK") != "" {
		trials = 10000
	}
	var counts resultCounts
	for seed := range uint64(trials) {
		fuzzEven(t, seed, &counts)
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
	t.Logf("soak: %d worlds, %+v", trials, counts)
	if counts.cached < counts.plans/2 || counts.violations < counts.plans/200 || counts.debits < counts.plans/20 {
		t.Errorf("the cases do not cover what they should: %+v", counts)
	}
}

func fuzzEven(t *testing.T, seed uint64, counts *resultCounts) {
	w, specs := newEvenCluster(seed)
	p := profile()
	o := preemption.Options{LedgerBudgets: w.chance(0.7), PreferMovable: w.chance(0.5)}
	planner := preemption.NewPlanner(w.state, p, seed, o)
	withHold := w.chance(0.3)
	for step := range 40 {
		for range w.IntN(3) {
			w.change()
		}
		pod := w.pod()
		pod.Spec, pod.Owner = one(w, specs...), model.Owner{}
		if withHold {
			w.holdFor(specs)
			pod.Owner = model.Owner{UID: one(w, "web", "db", "")}
		}
		pod.Labels, pod.Namespace = nil, "default"
		want, sum := referenceResult(w.state, p, seed, o, pod)
		if want == nil {
			continue
		}
		got := planner.Plan(pod, sum)
		counts.add(got)
		if !reflect.DeepEqual(got, planned(want.Preemption)) {
			t.Errorf("step %d, %+v, priority %d\n got  %s\n want %s", step, o, pod.Spec.Priority, show(got), show(&want.Preemption))
			return
		}
	}
	counts.cached += planner.Counters().Cached
}

type resultCounts struct{ plans, nominated, cached, fullDryRuns, debits, waits, violations, clears int }

func fuzzWorld(t *testing.T, seed uint64, counts *resultCounts) {
	w := newRandomCluster(seed)
	p := profile()
	o := preemption.Options{LedgerBudgets: w.chance(0.6), PreferMovable: w.chance(0.6)}
	planner := preemption.NewPlanner(w.state, p, seed, o)
	var earlier []*model.Pod // preemptors to repeat
	for step := range 40 {
		for range w.IntN(4) {
			w.change()
		}
		pod := w.wait()
		if len(earlier) > 0 && w.chance(0.7) {
			repeated := *pod
			repeated.Spec, repeated.Labels = one(w, earlier...).Spec, model.LabelsOf(map[string]string{"app": one(w, "a", "b")})
			w.state.UpsertPod(&repeated)
			w.pods[len(w.pods)-1], pod = &repeated, &repeated
		}
		earlier = append(earlier, pod)
		want, sum := referenceResult(w.state, p, seed, o, pod)
		if want == nil {
			continue
		}
		got := planner.Plan(pod, sum)
		counts.add(got)
		if !reflect.DeepEqual(got, planned(want.Preemption)) {
			t.Errorf("step %d, %+v, pod %s priority %d nominated %q\n got  %s\n want %s", step, o, pod.Name, pod.Spec.Priority, pod.NominatedNodeName, show(got), show(&want.Preemption))
			return
		}
	}
	counts.cached += planner.Counters().Cached
	counts.fullDryRuns += planner.Counters().FullDryRun
}

func (s *resultCounts) add(p *decision.Preemption) {
	s.plans++
	s.debits += len(p.Debits)
	switch p.Outcome {
	case decision.PreemptionNominated:
		s.nominated++
	case decision.PreemptionVictimsTerminating:
		s.waits++
	}
	if p.Violations > 0 {
		s.violations++
	}
	if p.ClearNomination {
		s.clears++
	}
}

func show(p *decision.Preemption) string {
	var names []string
	for _, v := range p.Victims {
		names = append(names, v.Key())
	}
	q := *p
	q.Victims = nil
	return fmt.Sprintf("%s %s %+v", p.Outcome, strings.Join(names, ","), q)
}
