package cgroup

import (
	"os"
	"path/filepath"
	"time"
)

// PSI is the pressure stall information of a resource. PSI of memory is evidence of thrashing. It is 0 until
// reclaim becomes difficult, so the agent does not use it to trigger evictions.
type PSI struct {
	Some Stall // at least one task stalled
	Full Stall // all non-idle tasks stalled at the same time
}

// Stall is the time in which tasks stalled.
type Stall struct {
	Avg10, Avg60, Avg300 int64         // share of the last 10, 60 and 300 s, in 0.01 %
	Total                time.Duration // since the cgroup was created
}

// HasPSI reports whether the kernel provides PSI of memory for this cgroup.
func (g *Group) HasPSI() bool { return g.psi.fd >= 0 }

// PSI reads memory.pressure into s.
func (g *Group) PSI(s *PSI) error {
	text, err := g.psi.read(g.buf[:])
	if err != nil {
		return err
	}
	parsePSI(text, s)
	return nil
}

// PSI reads the pressure stall information of cpu, memory or io. ok is false on v1, as in the kubelet.
// It is also false if the kernel does not provide the information.
func (h *Host) PSI(path, resource string) (s PSI, ok bool) {
	if h.Mode != V2 {
		return PSI{}, false
	}
	text, err := os.ReadFile(filepath.Join(h.unified, path, resource+".pressure"))
	if err != nil || len(text) == 0 {
		return PSI{}, false
	}
	ok = parsePSI(text, &s)
	return s, ok
}

// parsePSI parses the lines "some" and "full" of a file into s. Kernels before 5.13 have no line "full" of
// cpu. It reports whether it found a total.
func parsePSI(text []byte, s *PSI) (ok bool) {
	*s = PSI{}
	stall := &s.Some
	for i := 0; i < len(text); i++ {
		switch {
		case text[i] == '\n':
			stall = &s.Full
		case cutPrefix(text[i:], "avg10=") != nil:
			stall.Avg10 = parseHundredths(text[i+len("avg10="):])
		case cutPrefix(text[i:], "avg60=") != nil:
			stall.Avg60 = parseHundredths(text[i+len("avg60="):])
		case cutPrefix(text[i:], "avg300=") != nil:
			stall.Avg300 = parseHundredths(text[i+len("avg300="):])
		case cutPrefix(text[i:], "total=") != nil:
			microseconds, _ := parseDigits(text[i+len("total="):])
			stall.Total = time.Duration(microseconds) * time.Microsecond
			ok = true
		}
	}
	return ok
}

// parseHundredths parses a number with two decimals, such as 12.34.
func parseHundredths(text []byte) int64 {
	whole, rest := parseDigits(text)
	n := whole * 100
	if len(rest) > 2 && rest[0] == '.' {
		hundredths, _ := parseDigits(rest[1:3])
		n += hundredths
	}
	return n
}
