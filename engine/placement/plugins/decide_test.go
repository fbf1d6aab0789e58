package plugins_test

import (
	"testing"

	"github.com/berthproject/berth/engine/cluster"
	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/placement"
	"github.com/berthproject/berth/engine/placement/framework"
)

// decide evaluates under the default profile, changed by with.
func decide(t *testing.T, s *cluster.State, p *model.Pod, with ...func(*framework.Config)) *decision.Record {
	t.Helper()
	return placement.Evaluate(s, profile(t, with...), 1, p)
}

func profile(t *testing.T, with ...func(*framework.Config)) *framework.Profile {
	t.Helper()
	c := framework.DefaultConfig()
	for _, o := range with {
		o(&c)
	}
	p, err := framework.NewProfile(c)
	if err != nil {
		t.Fatal(err)
	}
	return p
}
