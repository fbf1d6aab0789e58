package profiles

import (
	"slices"

	"github.com/berthproject/berth/engine/cluster"
	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/placement"
	"github.com/berthproject/berth/engine/placement/fastpath"
	"github.com/berthproject/berth/engine/placement/framework"
	"github.com/berthproject/berth/engine/preemption"
)

// placer combines placement and preemption for a profile. It is an Explainer.
type placer struct {
	*fastpath.Engine
	planner *preemption.Planner
	state   *cluster.State
	profile *framework.Profile
	options Options
}

// Preempt implements Placer by the preemption planner.
func (p *placer) Preempt(pod *model.Pod, summary *decision.Summary) *decision.Preemption {
	return p.planner.Plan(pod, summary)
}

// PlanResize evaluates preemption for a pod with a deferred resize.
func (p *placer) PlanResize(pod *model.Pod, awaitVictims bool) *decision.Summary {
	return preemption.EvaluateResize(p.state, p.profile, p.options.Preemption, pod, awaitVictims)
}

// Debits returns the budget debits of victims that another process selected.
func (p *placer) Debits(victims []*model.Pod) []decision.Debit {
	return preemption.Debits(p.state, p.options.Preemption, victims)
}

// Explain implements Explainer by the reference evaluator.
func (p *placer) Explain(pod *model.Pod) *decision.Record {
	return placement.Evaluate(p.state, p.profile, p.options.Seed, pod)
}

// Fits implements Explainer: the reference evaluator filters the node.
func (p *placer) Fits(pod *model.Pod, node string) bool {
	id, ok := p.state.NodeID(node)
	if !ok {
		return false
	}
	dryRun, ok := placement.NewDryRun(p.state, p.profile, pod)
	if !ok {
		return false
	}
	v, err := dryRun.FilterWithout(node, nil, p.state.Node(id).Ports)
	return err == nil && v.IsSuccess()
}

// SelectHost returns the node with the highest score, ties broken as in placement. It ignores
// deleted nodes.
func (p *placer) SelectHost(pod *model.Pod, nodes []NodeScore) string {
	tieBreaker := placement.NewTieBreaker(p.options.Seed, pod.TieKey())
	var best *cluster.NodeInfo
	var highest int64
	for _, scored := range nodes {
		id, ok := p.state.NodeID(scored.Node)
		if !ok {
			continue
		}
		if n := p.state.Node(id); best == nil || scored.Score > highest || scored.Score == highest && tieBreaker.Compare(n, best) < 0 {
			best, highest = n, scored.Score
		}
	}
	if best == nil {
		return ""
	}
	return best.Model.Name
}

// FindCandidates implements Explainer by preemption's reference evaluator.
func (p *placer) FindCandidates(pod *model.Pod, rec *decision.Record) ([]Candidate, *decision.Preemption) {
	r := preemption.Evaluate(p.state, p.profile, p.options.Seed, p.options.Preemption, pod, rec)
	out := make([]Candidate, 0, len(r.Candidates))
	for _, c := range r.Candidates {
		out = append(out, Candidate{Node: c.Node, Victims: slices.Clone(c.Victims), Violations: c.Violations})
	}
	return out, &r.Preemption
}

// SelectCandidate implements Explainer by preemption's criteria.
func (p *placer) SelectCandidate(pod *model.Pod, candidates []Candidate) *decision.Preemption {
	remaining := make([]preemption.Candidate, 0, len(candidates))
	for _, c := range candidates {
		remaining = append(remaining, preemption.Candidate{Node: c.Node, Victims: c.Victims, Violations: c.Violations})
	}
	return preemption.SelectCandidate(p.state, p.profile, p.options.Seed, p.options.Preemption, pod, remaining)
}
