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

// changeHold adds or removes a Hold of a random owner.
func (c *randomCluster) changeHold() { c.changeHoldFor(c.specs) }

// changeHoldFor adds or removes a Hold. A reservation is for a pod with one of the specifications.
func (c *randomCluster) changeHoldFor(specs []*model.PodSpec) {
	t, owner, node := model.HoldType(c.IntN(2)), pick(c, "web", "db"), fmt.Sprintf("n%02d", c.IntN(c.nodes))
	h := &model.Hold{Namespace: "default", Name: cluster.HoldName(owner, node, t), Type: t, Owner: model.Owner{UID: owner}, Node: node, Count: 1, Until: epoch}
	if c.chance(0.3) {
		c.state.RemoveHold(h.Namespace, h.Name)
		return
	}
	if t == model.Reserve {
		h.Placeholder = &model.Pod{Namespace: "default", Name: h.Name, UID: "hold/" + h.Key(), Owner: h.Owner, NominatedNodeName: node, Placeholder: true, Spec: pick(c, specs...)}
	}
	c.state.UpsertHold(h)
}

// TestFuzzPlannerEqualsReferenceWithHolds compares the planner with the reference evaluator in
// clusters with Holds of the preemptors' owners.
func TestFuzzPlannerEqualsReferenceWithHolds(t *testing.T) {
	trials := 100
	if os.Getenv("BERTH_SOAK") != "" {
		trials = 5000
	}
	var counts resultCounts
	avoided := 0
	for seed := range uint64(trials) {
		c := newRandomCluster(seed + 1<<32)
		p := profile()
		o := preemption.Options{LedgerBudgets: c.chance(0.6), PreferMovable: c.chance(0.6)}
		planner := preemption.NewPlanner(c.state, p, seed, o)
		for step := range 30 {
			c.changeHold()
			for range c.IntN(3) {
				c.change()
			}
			pod := c.pod()
			pod.Spec, pod.Namespace, pod.Owner = pick(c, c.specs...), "default", model.Owner{UID: pick(c, "web", "web", "db", "")}
			want, summary := referenceResult(c.state, p, seed, o, pod)
			if want == nil {
				continue
			}
			if summary.UnschedulablePlugins.Has(decision.HoldAvoid) {
				avoided++
			}
			got := planner.Plan(pod, summary)
			counts.add(got)
			if !reflect.DeepEqual(got, withoutCounts(want.Preemption)) {
				t.Fatalf("seed %d step %d, %+v, priority %d\n got  %s\n want %s", seed, step, o, pod.Spec.Priority, format(got), format(&want.Preemption))
			}
		}
	}
	t.Logf("soak: %d clusters with holds, in %d plans a hold excluded a node, %+v", trials, avoided, counts)
	if avoided < counts.plans/10 || counts.nominated < counts.plans/10 {
		t.Errorf("%d plans with an avoided node, %+v; want at least %d such plans and nominations", avoided, counts, counts.plans/10)
	}
}
