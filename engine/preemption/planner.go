package preemption

import (
	"github.com/berthproject/berth/engine/cluster"
	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/placement"
)

// Planner says how room can be made for pods that fit nowhere. It belongs to
// one State and is used by whoever owns that.
type Planner struct {
	state   *cluster.State
	profile *placement.Profile
	seed    uint64
	options Options
}

// NewPlanner makes a planner for the pods of a profile. The seed decides between
// equal nodes, as in Evaluate.
func NewPlanner(s *cluster.State, p *placement.Profile, seed uint64, o Options) *Planner {
	return &Planner{state: s, profile: p, seed: seed, options: o}
}

// Plan says how room can be made for a pod that was found Infeasible on the
// state as it is now; sum is what that decision left behind. The answer is the caller's.
func (pl *Planner) Plan(pod *model.Pod, sum *decision.Summary) *decision.Preemption {
	if sum.Outcome != decision.Infeasible || sum.Verdict != nil || !pl.profile.Config().Preemption {
		return &decision.Preemption{Nodes: pl.state.NumNodes()}
	}
	return pl.plainly(pod)
}

func (pl *Planner) plainly(pod *model.Pod) *decision.Preemption {
	rec := placement.Evaluate(pl.state, pl.profile, pl.seed, pod)
	return &Evaluate(pl.state, pl.profile, pl.seed, pl.options, pod, rec).Preemption
}
