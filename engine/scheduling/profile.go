package scheduling

import (
	"github.com/berthproject/berth/engine/cluster"
	"github.com/berthproject/berth/engine/placement"
)

// Placed is a profile that decides by the rules of placement, on its fast path.
// The seed chooses between nodes of equal score. Room is the memory in bytes
// that the views of pod shapes may take; 0 is placement's default.
func Placed(p *placement.Profile, seed uint64, room int) Profile {
	return Profile{Name: p.Name(), New: func(s *cluster.State) Placer {
		e := placement.NewEngine(s, p, seed)
		if room > 0 {
			e.SetRoom(room)
		}
		return e
	}}
}
