package conformance_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/berthproject/berth/engine/cluster"
	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/placement/framework"
	"github.com/berthproject/berth/engine/preemption"
	"github.com/berthproject/berth/explain"
)

// preemptionResult is a recorded preemption, or an actual one in the same form.
type preemptionResult struct {
	Outcome          string            `json:"outcome"`
	Nominated        []string          `json:"nominated,omitempty"`
	Candidates       []candidateResult `json:"candidates,omitempty"`
	Nodes            []nodeResult      `json:"nodes,omitempty"`
	Message          string            `json:"message,omitempty"`
	ClearsNomination bool              `json:"clearsNomination,omitempty"`
}

// candidateResult is a node on which a preemption would make the pod feasible.
type candidateResult struct {
	Node          string   `json:"node"`
	Victims       []string `json:"victims"`
	PDBViolations int      `json:"pdbViolations,omitempty"`
}

// preemptionDifferences compares preemption, with all options off, with the recorded result, if there is one. It
// also compares the fast path with the reference evaluator, with all options off and with the default options.
func (v *schedulingVector) preemptionDifferences(state *cluster.State, profile *framework.Profile, pod *model.Pod, record *decision.Record) []string {
	if record.Outcome != decision.Infeasible {
		return nil
	}
	var out []string
	summary := decision.Summarize(record, state.NumNodes())
	for _, o := range []preemption.Options{{}, preemption.Defaults()} {
		want := preemption.Evaluate(state, profile, seed, o, pod, record)
		if want.Preemption.Outcome == decision.PreemptionNominated { // the planner does not evaluate all nodes in this case
			want.Preemption.Candidates, want.Preemption.ReasonCounts = 0, nil
		}
		planner := preemption.NewPlanner(state, profile, seed, o)
		for range 2 {
			if got := planner.Plan(pod, summary); !reflect.DeepEqual(got, &want.Preemption) {
				out = append(out, fmt.Sprintf("fast path of preemption with %+v: got %+v, want %+v", o, got, want.Preemption))
			}
		}
	}
	want := v.Expect.Preemption
	if want == nil {
		return out
	}
	w, _ := json.Marshal(want.normalized())
	g, _ := json.Marshal(newPreemptionResult(preemption.Evaluate(state, profile, seed, preemption.Options{}, pod, record)).normalized())
	if string(w) != string(g) {
		out = append(out, fmt.Sprintf("preemption: got %s, want %s", g, w))
	}
	return out
}

// newPreemptionResult converts a result to the form of the recordings.
func newPreemptionResult(r *preemption.Result) *preemptionResult {
	p := &r.Preemption
	t := &preemptionResult{Outcome: "none", Nominated: r.Ties, Message: explain.Preemption(p), ClearsNomination: p.ClearNomination}
	if p.Outcome == decision.PreemptionNominated {
		t.Outcome = "nominated"
	}
	for _, c := range r.Candidates {
		result := candidateResult{Node: c.Node, PDBViolations: c.Violations}
		for _, victim := range c.Victims {
			result.Victims = append(result.Victims, victim.Key())
		}
		t.Candidates = append(t.Candidates, result)
	}
	for i := range r.Rejections {
		n := &r.Rejections[i]
		result := nodeResult{Name: n.Node, Code: n.Verdict.Code.String()}
		if n.Verdict.Plugin != decision.DefaultPreemption {
			result.Plugin = n.Verdict.Plugin.String()
		}
		result.Reasons = newRejection(&n.Verdict).Reasons
		t.Nodes = append(t.Nodes, result)
	}
	return t
}

// normalized returns the result with sorted lists and without the texts about device claims.
func (t *preemptionResult) normalized() *preemptionResult {
	c := *t
	c.Message = strings.TrimPrefix(c.Message, "no new claims to deallocate, ")
	if c.Message == "not found" {
		c.Message = ""
	}
	slices.Sort(c.Nominated)
	for i := range c.Candidates {
		slices.Sort(c.Candidates[i].Victims)
	}
	for i := range c.Nodes {
		slices.Sort(c.Nodes[i].Reasons)
	}
	slices.SortFunc(c.Candidates, func(a, b candidateResult) int { return cmp.Compare(a.Node, b.Node) })
	slices.SortFunc(c.Nodes, func(a, b nodeResult) int { return cmp.Compare(a.Name, b.Name) })
	return &c
}
