package cgroup

import "time"

// PSI is the pressure stall information of memory. It is evidence of thrashing, but it is 0
// until reclaim becomes hard, so it does not trigger evictions.
type PSI struct {
	SomeAvg10 int64         // share of the last 10 s in which some process stalled, in 0.01 %
	SomeTotal time.Duration // time in which some process stalled, since the cgroup was created
	FullTotal time.Duration // time in which all processes stalled, since the cgroup was created
}

// HasPSI reports whether the kernel provides PSI for this cgroup.
func (g *Group) HasPSI() bool { return g.psi.fd >= 0 }

// PSI reads memory.pressure into s.
func (g *Group) PSI(s *PSI) error {
	text, err := g.psi.read(g.buf[:])
	if err != nil {
		return err
	}
	*s = PSI{}
	some := true
	for i := 0; i < len(text); i++ {
		switch {
		case text[i] == '\n':
			some = false
		case some && cutPrefix(text[i:], "avg10=") != nil:
			whole, rest := parseDigits(text[i+len("avg10="):])
			s.SomeAvg10 = whole * 100
			if len(rest) > 2 && rest[0] == '.' {
				hundredths, _ := parseDigits(rest[1:3])
				s.SomeAvg10 += hundredths
			}
		case cutPrefix(text[i:], "total=") != nil:
			microseconds, _ := parseDigits(text[i+len("total="):])
			if some {
				s.SomeTotal = time.Duration(microseconds) * time.Microsecond
			} else {
				s.FullTotal = time.Duration(microseconds) * time.Microsecond
			}
		}
	}
	return nil
}
