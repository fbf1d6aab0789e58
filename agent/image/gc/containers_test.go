package gc

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

// fakeContainers is a list of terminated containers.
type fakeContainers struct {
	dead []pods.DeadContainer
	fail string // ID whose removal fails
}

func (g *fakeContainers) Dead(context.Context) ([]pods.DeadContainer, error) {
	return slices.Clone(g.dead), nil
}
func (g *fakeContainers) RemoveDead(_ context.Context, d pods.DeadContainer) error {
	if d.ID == g.fail {
		return errors.New("busy")
	}
	g.dead = slices.DeleteFunc(g.dead, func(o pods.DeadContainer) bool { return o.ID == d.ID })
	return nil
}

func (g *fakeContainers) ids() (out []string) {
	for _, d := range g.dead {
		out = append(out, d.ID)
	}
	return out
}

// newFakeContainers returns containers given as {pod, container}, created one minute apart; the
// last one is new.
func newFakeContainers(now time.Time, names ...[2]string) *fakeContainers {
	g := &fakeContainers{}
	attempts := map[[2]string]uint32{}
	for i, n := range names {
		g.dead = append(g.dead, pods.DeadContainer{ID: fmt.Sprintf("%s/%s/%d", n[0], n[1], attempts[n]), Pod: types.UID(n[0]), Container: n[1],
			Attempt: attempts[n], Created: now.Add(-time.Duration(len(names)-1-i) * time.Minute), PodDeleted: n[0] == "gone"})
		attempts[n]++
	}
	return g
}

func TestDeadContainers(t *testing.T) {
	now := time.Unix(1e9, 0)
	a, b, deleted, finished := [2]string{"p", "a"}, [2]string{"p", "b"}, [2]string{"gone", "a"}, [2]string{"done", "a"}
	names := [][2]string{a, a, b, deleted, a, b, finished, a}
	for name, tc := range map[string]struct {
		change  func(*Policy)
		reclaim bool
		want    []string
	}{
		"one of each":              {want: []string{"p/b/1", "done/a/0", "p/a/3"}},
		"under pressure":           {reclaim: true, want: []string{"p/b/1", "p/a/3"}},
		"two of each":              {change: func(p *Policy) { p.MaxPerPodContainer = 2 }, want: []string{"p/b/0", "p/a/2", "p/b/1", "done/a/0", "p/a/3"}},
		"none":                     {change: func(p *Policy) { p.MaxPerPodContainer = 0 }},
		"any number":               {change: func(p *Policy) { p.MaxPerPodContainer = -1 }, want: []string{"p/a/0", "p/a/1", "p/b/0", "p/a/2", "p/b/1", "done/a/0", "p/a/3"}},
		"old ones only":            {change: func(p *Policy) { p.MinContainerAge = 5 * time.Minute }, want: []string{"p/b/0", "gone/a/0", "p/a/2", "p/b/1", "done/a/0", "p/a/3", "p/a/1"}},
		"4 in all: 1 of each":      {change: func(p *Policy) { p.MaxPerPodContainer, p.MaxContainers = -1, 4 }, want: []string{"p/b/1", "done/a/0", "p/a/3"}},
		"2 in all: the oldest too": {change: func(p *Policy) { p.MaxContainers = 2 }, want: []string{"done/a/0", "p/a/3"}},
		"6 in all: even shares":    {change: func(p *Policy) { p.MaxPerPodContainer, p.MaxContainers = -1, 6 }, want: []string{"p/b/0", "p/a/2", "p/b/1", "done/a/0", "p/a/3"}},
	} {
		g := newFakeContainers(now, names...)
		policy := DefaultPolicy()
		if tc.change != nil {
			tc.change(&policy)
		}
		c, err := New(Options{Service: fake.New(), ImageFs: stats.NewDisk("/"), Policy: policy, Containers: g, Now: func() time.Time { return now },
			IsPodFinished: func(uid types.UID) bool { return uid == "done" }})
		if err != nil {
			t.Fatal(err)
		}
		if tc.reclaim {
			err = c.Reclaim(context.Background(), true, false)
		} else {
			err = c.CollectContainers(context.Background())
		}
		slices.Sort(tc.want)
		got := g.ids()
		slices.Sort(got)
		if err != nil || !slices.Equal(got, tc.want) {
			t.Errorf("%s: remaining %q, %v, want %q", name, got, err, tc.want)
		}
	}
}

// A failed removal does not affect the others.
func TestRestartingContainer(t *testing.T) {
	now := time.Unix(1e9, 0)
	g := newFakeContainers(now, [2]string{"gone", "a"}, [2]string{"gone", "b"})
	g.fail = "gone/a/0"
	c, err := New(Options{Service: fake.New(), ImageFs: stats.NewDisk("/"), Policy: DefaultPolicy(), Containers: g, Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.CollectContainers(context.Background()); err == nil || len(g.dead) != 1 {
		t.Errorf("remaining %q, %v, want an error and the busy one only", g.ids(), err)
	}
}

func TestValidatePolicy(t *testing.T) {
	for want, change := range map[string]func(*Policy){
		"imageGCHighThresholdPercent 101: must be from 0 to 100":                                    func(p *Policy) { p.HighThresholdPercent = 101 },
		"imageGCLowThresholdPercent -1: must be from 0 to 100":                                      func(p *Policy) { p.LowThresholdPercent = -1 },
		"imageGCLowThresholdPercent 85: must be less than imageGCHighThresholdPercent, which is 85": func(p *Policy) { p.LowThresholdPercent = 85 },
		"imageMinimumGCAge -1s: must not be negative":                                               func(p *Policy) { p.MinAge = -time.Second },
		"imageMaximumGCAge 1m0s: must be 0 or more than imageMinimumGCAge, which is 2m0s":           func(p *Policy) { p.MaxAge = time.Minute },
		"minimum age of terminated containers -1ns: must not be negative":                           func(p *Policy) { p.MinContainerAge = -1 },
	} {
		p := DefaultPolicy()
		change(&p)
		if err := p.Validate(); err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	if err := DefaultPolicy().Validate(); err != nil {
		t.Error(err)
	}
}
