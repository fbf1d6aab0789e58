package scheduling

import (
	"slices"

	"github.com/berthproject/berth/engine/cluster"
	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/placement"
	"github.com/berthproject/berth/engine/preemption"
)

// Profile is a scheduler name and the Placer for its pods.
type Profile struct {
	Name      string
	NewPlacer func(*cluster.State) Placer

	// WantsExtenders reports whether extenders filter or score nodes for a pod,
	// WantsPreemptionExtenders whether they take part in its preemption. Nil means never; otherwise
	// NewPlacer must return an Explainer.
	WantsExtenders, WantsPreemptionExtenders func(*model.Pod) bool
}

func (p *Profile) callsExtenders(pod *model.Pod) bool {
	return p.WantsExtenders != nil && p.WantsExtenders(pod)
}

func (p *Profile) callsPreemptionExtenders(pod *model.Pod) bool {
	return p.WantsPreemptionExtenders != nil && p.WantsPreemptionExtenders(pod)
}

// PlacementOptions configures NewProfileWithOptions.
type PlacementOptions struct {
	Seed uint64 // breaks ties between nodes
	// CacheBytes limits the memory of the score caches; 0 is placement's default.
	CacheBytes int
	Preemption preemption.Options
}

// NewProfile returns a profile that uses placement's fast path and preemption's default options.
// cacheBytes limits the score caches; 0 is placement's default.
func NewProfile(p *placement.Profile, seed uint64, room int) Profile {
	return NewProfileWithOptions(p, PlacementOptions{Seed: seed, CacheBytes: room, Preemption: preemption.Defaults()})
}

// NewProfileWithOptions returns a profile with the given options.
func NewProfileWithOptions(p *placement.Profile, by PlacementOptions) Profile {
	return Profile{Name: p.Name(), NewPlacer: func(s *cluster.State) Placer {
		e := placement.NewEngine(s, p, by.Seed)
		if by.CacheBytes > 0 {
			e.SetCacheLimit(by.CacheBytes)
		}
		return &profilePlacer{Engine: e, planner: preemption.NewPlanner(s, p, by.Seed, by.Preemption), state: s, profile: p, options: by}
	}}
}

// profilePlacer combines placement and preemption for a profile. It is an Explainer.
type profilePlacer struct {
	*placement.Engine
	planner *preemption.Planner
	state   *cluster.State
	profile *placement.Profile
	options PlacementOptions
}

// Preempt implements Placer by the preemption planner.
func (p *profilePlacer) Preempt(pod *model.Pod, sum *decision.Summary) *decision.Preemption {
	return p.planner.Plan(pod, sum)
}

// Debits returns what victims that were chosen before take from budgets.
func (p *profilePlacer) Debits(victims []*model.Pod) []decision.Debit {
	return preemption.Debits(p.state, p.options.Preemption, victims)
}

// Explain uses the reference evaluator.
func (p *profilePlacer) Explain(pod *model.Pod) *decision.Record {
	return placement.Evaluate(p.state, p.profile, p.options.Seed, pod)
}

// Fits filters one node by the reference evaluator.
func (p *profilePlacer) Fits(pod *model.Pod, node string) bool {
	id, ok := p.state.NodeID(node)
	if !ok {
		return false
	}
	trial, ok := placement.NewDryRun(p.state, p.profile, pod)
	if !ok {
		return false
	}
	v, err := trial.FilterWithout(node, nil, p.state.Node(id).Ports)
	return err == nil && v.IsSuccess()
}

// SelectHost returns the node with the highest score, ties broken as in placement. It ignores
// deleted nodes.
func (p *profilePlacer) SelectHost(pod *model.Pod, nodes []NodeScore) string {
	ties := placement.NewTieBreaker(p.options.Seed, pod.TieKey())
	var best *cluster.NodeInfo
	var points int64
	for _, t := range nodes {
		id, ok := p.state.NodeID(t.Node)
		if !ok {
			continue
		}
		if n := p.state.Node(id); best == nil || t.Score > points || t.Score == points && ties.Compare(n, best) < 0 {
			best, points = n, t.Score
		}
	}
	if best == nil {
		return ""
	}
	return best.Model.Name
}

// FindCandidates uses preemption's reference evaluator.
func (p *profilePlacer) FindCandidates(pod *model.Pod, rec *decision.Record) ([]Candidate, *decision.Preemption) {
	r := preemption.Evaluate(p.state, p.profile, p.options.Seed, p.options.Preemption, pod, rec)
	out := make([]Candidate, 0, len(r.Candidates))
	for _, c := range r.Candidates {
		out = append(out, Candidate{Node: c.Node, Victims: slices.Clone(c.Victims), Violations: c.Violations})
	}
	return out, &r.Preemption
}

// SelectCandidate applies preemption's criteria.
func (p *profilePlacer) SelectCandidate(pod *model.Pod, candidates []Candidate) *decision.Preemption {
	left := make([]preemption.Candidate, 0, len(candidates))
	for _, c := range candidates {
		left = append(left, preemption.Candidate{Node: c.Node, Victims: c.Victims, Violations: c.Violations})
	}
	return preemption.SelectCandidate(p.state, p.profile, p.options.Seed, p.options.Preemption, pod, left)
}
