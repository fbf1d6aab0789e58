package preemption_test

import (
	"fmt"
	"os"
	"reflect"
	"testing"

	"github.com/berthproject/berth/engine/cluster"
	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/preemption"
)

// hold creates a Hold for or against a random owner, or ends one.
func (w *randomCluster) hold() { w.holdFor(w.specs) }

// holdFor is hold with reservations for one of the specifications.
func (w *randomCluster) holdFor(specs []*model.PodSpec) {
	t, owner, node := model.HoldType(w.IntN(2)), one(w, "web", "db"), fmt.Sprintf("n%02d", w.IntN(w.nodes))
	h := &model.Hold{Namespace: "default", Name: cluster.HoldName(owner, node, t), Type: t, Owner: model.Owner{UID: owner}, Node: node, Count: 1, Until: epoch}
	if w.chance(0.3) {
		w.state.RemoveHold(h.Namespace, h.Name)
		return
	}
	if t == model.Reserve {
		h.Placeholder = &model.Pod{Namespace: "default", Name: h.Name, UID: "hold/" + h.Key(), Owner: h.Owner, NominatedNodeName: node, Placeholder: true, Spec: one(w, specs...)}
	}
	w.state.UpsertHold(h)
}

// TestFuzzPlannerEqualsReferenceWithHolds compares the two with Holds for and against the
// preemptors' owners.
func TestFuzzPlannerEqualsReferenceWithHolds(t *testing.T) {
	trials := 100
	if os.Getenv("BERTH_SOAK") != "" {
		trials = 5000
	}
	var counts resultCounts
	avoided := 0
	for seed := range uint64(trials) {
		w := newRandomCluster(seed + 1<<32)
		p := profile()
		o := preemption.Options{LedgerBudgets: w.chance(0.6), PreferMovable: w.chance(0.6)}
		planner := preemption.NewPlanner(w.state, p, seed, o)
		for step := range 30 {
			w.hold()
			for range w.IntN(3) {
				w.change()
			}
			pod := w.pod()
			pod.Spec, pod.Namespace, pod.Owner = one(w, w.specs...), "default", model.Owner{UID: one(w, "web", "web", "db", "")}
			want, sum := referenceResult(w.state, p, seed, o, pod)
			if want == nil {
				continue
			}
			if sum.UnschedulablePlugins.Has(decision.HoldAvoid) {
				avoided++
			}
			got := planner.Plan(pod, sum)
			counts.add(got)
			if !reflect.DeepEqual(got, planned(want.Preemption)) {
				t.Fatalf("seed %d step %d, %+v, priority %d\n got  %s\n want %s", seed, step, o, pod.Spec.Priority, show(got), show(&want.Preemption))
			}
		}
	}
	t.Logf("soak: %d clusters with holds, in %d plans a hold excluded a node, %+v", trials, avoided, counts)
	if avoided < counts.plans/10 || counts.nominated < counts.plans/10 {
		t.Errorf("the cases do not cover enough: %d avoided, %+v", avoided, counts)
	}
}
