package cgroup

import "time"

// Stall is how long processes have waited for memory (PSI): evidence of
// thrashing, never a trigger. It says nothing until reclaim is hard.
type Stall struct {
	Some10 int64         // share of the last 10 s in which some process waited, in hundredths of a percent
	Some   time.Duration // waited since boot
	Full   time.Duration // of it, all at once
}

// HasStall says whether the kernel tells of this cgroup's stalls.
func (g *Group) HasStall() bool { return g.stall.fd >= 0 }

// Stall reads memory.pressure.
func (g *Group) Stall(s *Stall) error {
	text, err := g.stall.read(g.space[:])
	if err != nil {
		return err
	}
	*s = Stall{}
	some := true
	for i := 0; i < len(text); i++ {
		switch {
		case text[i] == '\n':
			some = false
		case some && after(text[i:], "avg10=") != nil:
			whole, rest := digits(text[i+len("avg10="):])
			s.Some10 = whole * 100
			if len(rest) > 2 && rest[0] == '.' {
				cents, _ := digits(rest[1:3])
				s.Some10 += cents
			}
		case after(text[i:], "total=") != nil:
			micro, _ := digits(text[i+len("total="):])
			if some {
				s.Some = time.Duration(micro) * time.Microsecond
			} else {
				s.Full = time.Duration(micro) * time.Microsecond
			}
		}
	}
	return nil
}
