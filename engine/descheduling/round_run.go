package descheduling

import "fmt"

// RunPolicy runs all profiles on a snapshot: first their Deschedule strategies, then their
// Balance strategies. With fewer than two nodes it does nothing.
func RunPolicy(s *Snapshot, p *Policy, m Mover) Result {
	r := NewRound(s, p, m)
	var out Result
	evictors := make([]*defaultEvictor, len(p.Profiles))
	for i := range p.Profiles {
		e, reason := newDefaultEvictor(r, &p.Profiles[i].Evictor)
		if reason != "" {
			out.FailedProfiles = append(out.FailedProfiles, FailedProfile{Profile: p.Profiles[i].Name, Reason: reason})
		}
		evictors[i] = e
	}
	if len(r.nodes) < 2 {
		out.SkippedReason = fmt.Sprintf("%d nodes are ready and selected; at least 2 are required", len(r.nodes))
		return out
	}
	run := func(strategies func(*Profile) []Strategy) {
		for i := range p.Profiles {
			if evictors[i] == nil {
				continue
			}
			r.Profile, r.evictor = &p.Profiles[i], evictors[i]
			for _, s := range strategies(r.Profile) {
				r.strategy = s.Name()
				s.Run(r)
			}
		}
	}
	run(func(p *Profile) []Strategy { return p.Deschedule })
	run(func(p *Profile) []Strategy { return p.Balance })
	out.Moves = r.moves
	return out
}
