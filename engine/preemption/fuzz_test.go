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
	worlds := 150
	if os.Getenv("BERTH_SOAK") != "" {
		worlds = 10000
	}
	var seen resultCounts
	for seed := range uint64(worlds) {
		fuzzWorld(t, seed, &seen)
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
	t.Logf("soak: %d worlds, %+v", worlds, seen)
	if seen.plans < 15*worlds || seen.nominated < seen.plans/10 || seen.columned < seen.plans/8 || seen.debits == 0 || seen.waits == 0 || seen.violations == 0 {
		t.Errorf("the cases do not cover what they should: %+v", seen)
	}
}

// TestFuzzPlannerTracksChanges is the same with recurring preemptors.
func TestFuzzPlannerTracksChanges(t *testing.T) {
	worlds := 400
	if os.Getenv("BERTH_SOAK") != "" {
		worlds = 10000
	}
	var seen resultCounts
	for seed := range uint64(worlds) {
		fuzzEven(t, seed, &seen)
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
	t.Logf("soak: %d worlds, %+v", worlds, seen)
	if seen.columned < seen.plans/2 || seen.violations < seen.plans/200 || seen.debits < seen.plans/20 {
		t.Errorf("the cases do not cover what they should: %+v", seen)
	}
}

func fuzzEven(t *testing.T, seed uint64, seen *resultCounts) {
	w, specs := newEvenCluster(seed)
	p := profile()
	o := preemption.Options{LedgerBudgets: w.chance(0.7), PreferMovable: w.chance(0.5)}
	planner := preemption.NewPlanner(w.state, p, seed, o)
	held := w.chance(0.3)
	for step := range 40 {
		for range w.IntN(3) {
			w.change()
		}
		pod := w.pod()
		pod.Spec, pod.Owner = one(w, specs...), model.Owner{}
		if held {
			w.holdFor(specs)
			pod.Owner = model.Owner{UID: one(w, "web", "db", "")}
		}
		pod.Labels, pod.Namespace = nil, "default"
		want, sum := plainly(w.state, p, seed, o, pod)
		if want == nil {
			continue
		}
		got := planner.Plan(pod, sum)
		seen.add(got)
		if !reflect.DeepEqual(got, planned(want.Preemption)) {
			t.Errorf("step %d, %+v, priority %d\n got  %s\n want %s", step, o, pod.Spec.Priority, show(got), show(&want.Preemption))
			return
		}
	}
	seen.columned += planner.Counters().Cached
}

type resultCounts struct{ plans, nominated, columned, guarded, debits, waits, violations, clears int }

func fuzzWorld(t *testing.T, seed uint64, seen *resultCounts) {
	w := newRandomCluster(seed)
	p := profile()
	o := preemption.Options{LedgerBudgets: w.chance(0.6), PreferMovable: w.chance(0.6)}
	planner := preemption.NewPlanner(w.state, p, seed, o)
	var asked []*model.Pod // preemptors to repeat
	for step := range 40 {
		for range w.IntN(4) {
			w.change()
		}
		pod := w.wait()
		if len(asked) > 0 && w.chance(0.7) {
			again := *pod
			again.Spec, again.Labels = one(w, asked...).Spec, model.LabelsOf(map[string]string{"app": one(w, "a", "b")})
			w.state.UpsertPod(&again)
			w.pods[len(w.pods)-1], pod = &again, &again
		}
		asked = append(asked, pod)
		want, sum := plainly(w.state, p, seed, o, pod)
		if want == nil {
			continue
		}
		got := planner.Plan(pod, sum)
		seen.add(got)
		if !reflect.DeepEqual(got, planned(want.Preemption)) {
			t.Errorf("step %d, %+v, pod %s priority %d nominated %q\n got  %s\n want %s", step, o, pod.Name, pod.Spec.Priority, pod.NominatedNodeName, show(got), show(&want.Preemption))
			return
		}
	}
	seen.columned += planner.Counters().Cached
	seen.guarded += planner.Counters().FullDryRun
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
