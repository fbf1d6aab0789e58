package plugins_test

import (
	"testing"

	"github.com/berthproject/berth/engine/cluster"
	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/placement"
	"github.com/berthproject/berth/engine/placement/framework"
)

// decide evaluates a pod under the default profile, changed by the options.
func decide(t *testing.T, s *cluster.State, p *model.Pod, options ...func(*framework.Config)) *decision.Record {
	t.Helper()
	return placement.Evaluate(s, profile(t, options...), 1, p)
}

func profile(t *testing.T, options ...func(*framework.Config)) *framework.Profile {
	t.Helper()
	c := framework.DefaultConfig()
	for _, option := range options {
		option(&c)
	}
	p, err := framework.NewProfile(c)
	if err != nil {
		t.Fatal(err)
	}
	return p
}
