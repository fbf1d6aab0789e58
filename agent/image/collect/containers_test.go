package collect

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/berthproject/berth/agent/pods"
	"github.com/berthproject/berth/agent/runtime/fake"
	"github.com/berthproject/berth/agent/stats"
)

// graveyard are dead containers in memory.
type graveyard struct {
	dead []pods.Dead
	fail string // an id that cannot be removed
}

func (g *graveyard) Dead(context.Context) ([]pods.Dead, error) { return slices.Clone(g.dead), nil }
func (g *graveyard) RemoveDead(_ context.Context, d pods.Dead) error {
	if d.ID == g.fail {
		return errors.New("busy")
	}
	g.dead = slices.DeleteFunc(g.dead, func(o pods.Dead) bool { return o.ID == d.ID })
	return nil
}

func (g *graveyard) ids() (out []string) {
	for _, d := range g.dead {
		out = append(out, d.ID)
	}
	return out
}

// bury makes containers, each given as pod, container and attempt; one a minute, the last one now.
func bury(now time.Time, names ...[2]string) *graveyard {
	g := &graveyard{}
	attempts := map[[2]string]uint32{}
	for i, n := range names {
		g.dead = append(g.dead, pods.Dead{ID: fmt.Sprintf("%s/%s/%d", n[0], n[1], attempts[n]), Pod: types.UID(n[0]), Container: n[1],
			Attempt: attempts[n], Created: now.Add(-time.Duration(len(names)-1-i) * time.Minute), Gone: n[0] == "gone"})
		attempts[n]++
	}
	return g
}

func TestDeadContainers(t *testing.T) {
	now := time.Unix(1e9, 0)
	a, b, gone, done := [2]string{"p", "a"}, [2]string{"p", "b"}, [2]string{"gone", "a"}, [2]string{"done", "a"}
	all := [][2]string{a, a, b, gone, a, b, done, a}
	for name, tc := range map[string]struct {
		change  func(*Policy)
		reclaim bool
		want    []string
	}{
		"one of each":              {want: []string{"p/b/1", "done/a/0", "p/a/3"}},
		"under pressure":           {reclaim: true, want: []string{"p/b/1", "p/a/3"}},
		"two of each":              {change: func(p *Policy) { p.DeadPerContainer = 2 }, want: []string{"p/b/0", "p/a/2", "p/b/1", "done/a/0", "p/a/3"}},
		"none":                     {change: func(p *Policy) { p.DeadPerContainer = 0 }},
		"any number":               {change: func(p *Policy) { p.DeadPerContainer = -1 }, want: []string{"p/a/0", "p/a/1", "p/b/0", "p/a/2", "p/b/1", "done/a/0", "p/a/3"}},
		"old ones only":            {change: func(p *Policy) { p.DeadMinAge = 5 * time.Minute }, want: []string{"p/b/0", "gone/a/0", "p/a/2", "p/b/1", "done/a/0", "p/a/3", "p/a/1"}},
		"4 in all: 1 of each":      {change: func(p *Policy) { p.DeadPerContainer, p.Dead = -1, 4 }, want: []string{"p/b/1", "done/a/0", "p/a/3"}},
		"2 in all: the oldest too": {change: func(p *Policy) { p.Dead = 2 }, want: []string{"done/a/0", "p/a/3"}},
		"6 in all: even shares":    {change: func(p *Policy) { p.DeadPerContainer, p.Dead = -1, 6 }, want: []string{"p/b/0", "p/a/2", "p/b/1", "done/a/0", "p/a/3"}},
	} {
		g := bury(now, all...)
		policy := Default()
		if tc.change != nil {
			tc.change(&policy)
		}
		c, err := New(Options{Service: fake.New(), ImageFs: stats.NewDisk("/"), Policy: policy, Containers: g, Now: func() time.Time { return now },
			Finished: func(uid types.UID) bool { return uid == "done" }})
		if err != nil {
			t.Fatal(err)
		}
		if tc.reclaim {
			err = c.Reclaim(context.Background(), true, false)
		} else {
			err = c.Containers(context.Background())
		}
		slices.Sort(tc.want)
		got := g.ids()
		slices.Sort(got)
		if err != nil || !slices.Equal(got, tc.want) {
			t.Errorf("%s: left %q, %v, want %q", name, got, err, tc.want)
		}
	}
}

// One that cannot be removed keeps no other.
func TestABusyContainer(t *testing.T) {
	now := time.Unix(1e9, 0)
	g := bury(now, [2]string{"gone", "a"}, [2]string{"gone", "b"})
	g.fail = "gone/a/0"
	c, err := New(Options{Service: fake.New(), ImageFs: stats.NewDisk("/"), Policy: Default(), Containers: g, Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Containers(context.Background()); err == nil || len(g.dead) != 1 {
		t.Errorf("left %q, %v, want an error and the busy one only", g.ids(), err)
	}
}

func TestPolicyIsChecked(t *testing.T) {
	for want, change := range map[string]func(*Policy){
		"imageGCHighThresholdPercent 101: must be from 0 to 100":                                    func(p *Policy) { p.HighPercent = 101 },
		"imageGCLowThresholdPercent -1: must be from 0 to 100":                                      func(p *Policy) { p.LowPercent = -1 },
		"imageGCLowThresholdPercent 85: must be less than imageGCHighThresholdPercent, which is 85": func(p *Policy) { p.LowPercent = 85 },
		"imageMinimumGCAge -1s: must not be negative":                                               func(p *Policy) { p.MinAge = -time.Second },
		"imageMaximumGCAge 1m0s: must be 0 or more than imageMinimumGCAge, which is 2m0s":           func(p *Policy) { p.MaxAge = time.Minute },
		"minimum age of dead containers -1ns: must not be negative":                                 func(p *Policy) { p.DeadMinAge = -1 },
	} {
		p := Default()
		change(&p)
		if err := p.Validate(); err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	if err := Default().Validate(); err != nil {
		t.Error(err)
	}
}
