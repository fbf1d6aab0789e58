package preemption

import (
	"slices"

	"github.com/berthproject/berth/engine/cluster"
	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/placement/framework"
)

// SelectCandidate selects among candidates that an extender returned, by the usual criteria and
// with the violations that the candidates state.
func SelectCandidate(s *cluster.State, p *framework.Profile, seed uint64, o Options, pod *model.Pod, remaining []Candidate) *decision.Preemption {
	r := &Result{Candidates: slices.Clone(remaining)}
	r.Preemption.Nodes = s.NumNodes()
	r.Candidates = slices.DeleteFunc(r.Candidates, func(c Candidate) bool {
		_, ok := s.NodeID(c.Node)
		return !ok || len(c.Victims) == 0
	})
	if len(r.Candidates) == 0 {
		r.Preemption.Outcome, r.Preemption.ClearNomination = decision.PreemptionNoCandidates, pod.NominatedNodeName != ""
		return &r.Preemption
	}
	for i := range r.Candidates {
		c := &r.Candidates[i]
		c.Victims = slices.Clone(c.Victims)
		slices.SortFunc(c.Victims, compareImportance)
	}
	e := &referenceEvaluator{state: s, profile: p, seed: seed, options: o, pod: pod, allowances: newAllowances(s, o.rule())}
	e.selectCandidate(r)
	return &r.Preemption
}
