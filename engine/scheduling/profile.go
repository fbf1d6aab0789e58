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
	Name string
	New  func(*cluster.State) Placer

	// Asked says whether extenders want to be asked about the nodes for a pod,
	// AskedForVictims whether about its preemption. Nil: never. Otherwise the
	// placer must be a Surveyor.
	Asked, AskedForVictims func(*model.Pod) bool
}

func (p *Profile) asks(pod *model.Pod) bool { return p.Asked != nil && p.Asked(pod) }

func (p *Profile) asksVictims(pod *model.Pod) bool {
	return p.AskedForVictims != nil && p.AskedForVictims(pod)
}

// Placing is how a profile places pods.
type Placing struct {
	Seed uint64 // chooses between nodes that are equal
	// Room is the memory in bytes that the views of pod shapes may take; 0 is
	// placement's default.
	Room       int
	Preemption preemption.Options
}

// Placed is a profile that decides by the rules of placement, on its fast path, with
// preemption's default options.
func Placed(p *placement.Profile, seed uint64, room int) Profile {
	return PlacedBy(p, Placing{Seed: seed, Room: room, Preemption: preemption.Defaults()})
}

// PlacedBy is Placed with all options given.
func PlacedBy(p *placement.Profile, by Placing) Profile {
	return Profile{Name: p.Name(), New: func(s *cluster.State) Placer {
		e := placement.NewEngine(s, p, by.Seed)
		if by.Room > 0 {
			e.SetRoom(by.Room)
		}
		return &placed{Engine: e, planner: preemption.NewPlanner(s, p, by.Seed, by.Preemption), state: s, profile: p, by: by}
	}}
}

// placed brings the two together that choose for a profile. It is a Surveyor.
type placed struct {
	*placement.Engine
	planner *preemption.Planner
	state   *cluster.State
	profile *placement.Profile
	by      Placing
}

// Preempt asks the planner.
func (p *placed) Preempt(pod *model.Pod, sum *decision.Summary) *decision.Preemption {
	return p.planner.Plan(pod, sum)
}

// Debits are what victims that were chosen before take from budgets.
func (p *placed) Debits(victims []*model.Pod) []decision.Debit {
	return preemption.Debits(p.state, p.by.Preemption, victims)
}

// Survey is the plain path.
func (p *placed) Survey(pod *model.Pod) *decision.Record {
	return placement.Evaluate(p.state, p.profile, p.by.Seed, pod)
}

// Fits judges one node by the plain path.
func (p *placed) Fits(pod *model.Pod, node string) bool {
	id, ok := p.state.NodeID(node)
	if !ok {
		return false
	}
	trial, ok := placement.NewTrial(p.state, p.profile, pod)
	if !ok {
		return false
	}
	v, err := trial.Without(node, nil, p.state.Node(id).Ports)
	return err == nil && v.Fits()
}

// Best goes by points, then by the order of ties. Nodes that are gone are left out.
func (p *placed) Best(pod *model.Pod, nodes []Total) string {
	ties := placement.TiesOf(p.by.Seed, pod.TieKey())
	var best *cluster.NodeInfo
	var points int64
	for _, t := range nodes {
		id, ok := p.state.NodeID(t.Node)
		if !ok {
			continue
		}
		if n := p.state.Node(id); best == nil || t.Points > points || t.Points == points && ties.Compare(n, best) < 0 {
			best, points = n, t.Points
		}
	}
	if best == nil {
		return ""
	}
	return best.Model.Name
}

// Candidates is preemption's plain path.
func (p *placed) Candidates(pod *model.Pod, rec *decision.Record) ([]Candidate, *decision.Preemption) {
	r := preemption.Evaluate(p.state, p.profile, p.by.Seed, p.by.Preemption, pod, rec)
	out := make([]Candidate, 0, len(r.Candidates))
	for _, c := range r.Candidates {
		out = append(out, Candidate{Node: c.Node, Victims: slices.Clone(c.Victims), Violations: c.Violations})
	}
	return out, &r.Preemption
}

// Among chooses by preemption's criteria.
func (p *placed) Among(pod *model.Pod, candidates []Candidate) *decision.Preemption {
	left := make([]preemption.Candidate, 0, len(candidates))
	for _, c := range candidates {
		left = append(left, preemption.Candidate{Node: c.Node, Victims: c.Victims, Violations: c.Violations})
	}
	return preemption.Among(p.state, p.profile, p.by.Seed, p.by.Preemption, pod, left)
}
