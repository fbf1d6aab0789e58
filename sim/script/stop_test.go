package script

import (
	"testing"
	"time"

	"github.com/berthproject/berth/sim/cluster"
)

// TestStoppedRunsEnd checks that a stopped run does not wait for expectations, because its clock does not advance.
func TestStoppedRunsEnd(t *testing.T) {
	for _, text := range []string{
		"node n1..n3\nexpect at 1h pod missing bound\nuntil 2h",
		"node n1..n3\nuntil 1h\nexpect pod missing bound",
		"node n1..n3\nexpect at 1h pod missing bound\nat 90m cordon n1\noption settled\nuntil 2h",
	} {
		s, err := Parse("scenario", text)
		if err != nil {
			t.Fatal(err)
		}
		o, err := cluster.Defaults()
		if err != nil {
			t.Fatal(err)
		}
		polls := 0
		o.Stop = func() bool {
			if polls++; polls > 1000 {
				t.Fatalf("%q: a stopped run continues", text)
			}
			return true
		}
		result, err := s.Run(o)
		if err != nil || len(result.Failed) > 0 {
			t.Errorf("%q: got error %v, failed expectations %v, want none", text, err, result.Failed)
		}
		if polls == 0 || result.Cluster.Elapsed() > time.Hour {
			t.Errorf("%q: %d polls, ended at %v, want an end before 1h", text, polls, result.Cluster.Elapsed())
		}
	}
}
