package script

import (
	"strings"
	"testing"
)

func TestUntrustedScenarios(t *testing.T) {
	long := strings.Repeat("x", 1000)
	for _, c := range []struct{ text, want string }{
		{"node n1..n10 cpu=4\nevict a1..a10", ""},
		{"node n1\nload ../parse.go", "scenario:2: load: ../parse.go: files are not available"},
		{"load objects.yaml", "files are not available"},
		{"descheduler policy=low.yaml", "files are not available"},
		{"node n1..n60\nevict a1..a60", "scenario:2: evict: a1..a60: the scenario has more than 100 names"},
		{"node n1..n30 labels=a=" + long, "more than 100 names"},
		{"delete pod a1..a101", "more than 100 names"},
		{"node n1 cpu=1e2 memory=10E labels=version=1.2e3", ""},
		{"node n1 memory=12345678901234567890e2000000000", "scenario:1: 12345678901234567890e2000000000: exponents"},
		{"node n1 res=example.com/a=1E-3000", "exponents"},
		{"pod a emptydir=data:1e+3000", "exponents"},
		{"option hard=memory.available<1e3000", "exponents"},
		{"option decisions=64", ""},
		{"option decisions=65", "decisions=65: must be a whole number from 1 to 64"},
		{"partition n1..n101", "more than 100 names"},
	} {
		_, err := ParseUntrusted("scenario", c.text, 100)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%.60q: got error %v, want %q", c.text, err, c.want)
		}
	}
	if _, err := Parse("scenario", "node n1..n1000"); err != nil {
		t.Errorf("a trusted scenario: %v", err)
	}
}
