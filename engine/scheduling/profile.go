package scheduling

import (
	"github.com/berthproject/berth/engine/cluster"
	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/placement"
	"github.com/berthproject/berth/engine/preemption"
)

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
		return &placed{Engine: e, planner: preemption.NewPlanner(s, p, by.Seed, by.Preemption)}
	}}
}

// placed brings the two together that choose for a profile.
type placed struct {
	*placement.Engine
	planner *preemption.Planner
}

func (p *placed) Preempt(pod *model.Pod, sum *decision.Summary) *decision.Preemption {
	return p.planner.Plan(pod, sum)
}
