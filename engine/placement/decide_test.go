package placement

import (
	"testing"

	"github.com/berthproject/berth/engine/cluster"
	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/model"
)

// decide evaluates under the default profile, changed by with.
func decide(t *testing.T, s *cluster.State, p *model.Pod, with ...func(*Config)) *decision.Record {
	t.Helper()
	return Evaluate(s, profile(t, with...), 1, p)
}

func profile(t *testing.T, with ...func(*Config)) *Profile {
	t.Helper()
	c := DefaultConfig()
	for _, o := range with {
		o(&c)
	}
	p, err := NewProfile(c)
	if err != nil {
		t.Fatal(err)
	}
	return p
}
