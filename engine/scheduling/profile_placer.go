package scheduling

import (
	"slices"

	"github.com/berthproject/berth/engine/cluster"
	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/placement"
	"github.com/berthproject/berth/engine/preemption"
)

// Profile is a scheduler name with its way to decide.
type Profile struct {
	Name      string
	NewPlacer func(*cluster.State) Placer

	// WantsExtenders says whether extenders want to be asked about the nodes for a pod,
	// AskedForVictims whether about its preemption. Nil: never. Otherwise the
	// placer must be a Surveyor.
	WantsExtenders, WantsPreemptionExtenders func(*model.Pod) bool
}

func (p *Profile) callsExtenders(pod *model.Pod) bool {
	return p.WantsExtenders != nil && p.WantsExtenders(pod)
}

func (p *Profile) callsPreemptionExtenders(pod *model.Pod) bool {
	return p.WantsPreemptionExtenders != nil && p.WantsPreemptionExtenders(pod)
}

// PlacementOptions is how a profile places pods.
type PlacementOptions struct {
	Seed uint64 // chooses between nodes that are equal
	// CacheBytes is the memory in bytes that the views of pod shapes may take; 0 is
	// placement's default.
	CacheBytes int
	Preemption preemption.Options
}

// NewProfile is a profile that decides by the rules of placement, on its fast path, with
// preemption's default options.
func NewProfile(p *placement.Profile, seed uint64, room int) Profile {
	return NewProfileWithOptions(p, PlacementOptions{Seed: seed, CacheBytes: room, Preemption: preemption.Defaults()})
}

// NewProfileWithOptions is Placed with all options given.
func NewProfileWithOptions(p *placement.Profile, by PlacementOptions) Profile {
	return Profile{Name: p.Name(), NewPlacer: func(s *cluster.State) Placer {
		e := placement.NewEngine(s, p, by.Seed)
		if by.CacheBytes > 0 {
			e.SetCacheLimit(by.CacheBytes)
		}
		return &profilePlacer{Engine: e, planner: preemption.NewPlanner(s, p, by.Seed, by.Preemption), state: s, profile: p, options: by}
	}}
}

// profilePlacer brings the two together that choose for a profile. It is a Surveyor.
type profilePlacer struct {
	*placement.Engine
	planner *preemption.Planner
	state   *cluster.State
	profile *placement.Profile
	options PlacementOptions
}

// Preempt asks the planner.
func (p *profilePlacer) Preempt(pod *model.Pod, sum *decision.Summary) *decision.Preemption {
	return p.planner.Plan(pod, sum)
}

// Debits are what victims that were chosen before take from budgets.
func (p *profilePlacer) Debits(victims []*model.Pod) []decision.Debit {
	return preemption.Debits(p.state, p.options.Preemption, victims)
}

// Explain is the plain path.
func (p *profilePlacer) Explain(pod *model.Pod) *decision.Record {
	return placement.Evaluate(p.state, p.profile, p.options.Seed, pod)
}

// Fits judges one node by the plain path.
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

// SelectHost goes by points, then by the order of ties. Nodes that are gone are left out.
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

// FindCandidates is preemption's plain path.
func (p *profilePlacer) FindCandidates(pod *model.Pod, rec *decision.Record) ([]Candidate, *decision.Preemption) {
	r := preemption.Evaluate(p.state, p.profile, p.options.Seed, p.options.Preemption, pod, rec)
	out := make([]Candidate, 0, len(r.Candidates))
	for _, c := range r.Candidates {
		out = append(out, Candidate{Node: c.Node, Victims: slices.Clone(c.Victims), Violations: c.Violations})
	}
	return out, &r.Preemption
}

// SelectCandidate chooses by preemption's criteria.
func (p *profilePlacer) SelectCandidate(pod *model.Pod, candidates []Candidate) *decision.Preemption {
	left := make([]preemption.Candidate, 0, len(candidates))
	for _, c := range candidates {
		left = append(left, preemption.Candidate{Node: c.Node, Victims: c.Victims, Violations: c.Violations})
	}
	return preemption.SelectCandidate(p.state, p.profile, p.options.Seed, p.options.Preemption, pod, left)
}
