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
	terminated []pods.TerminatedContainer
	fail       string // ID whose removal fails
}

func (f *fakeContainers) Terminated(context.Context) ([]pods.TerminatedContainer, error) {
	return slices.Clone(f.terminated), nil
}

func (f *fakeContainers) RemoveTerminated(_ context.Context, c pods.TerminatedContainer) error {
	if c.ID == f.fail {
		return errors.New("busy")
	}
	f.terminated = slices.DeleteFunc(f.terminated, func(other pods.TerminatedContainer) bool { return other.ID == c.ID })
	return nil
}

func (f *fakeContainers) ids() (out []string) {
	for _, c := range f.terminated {
		out = append(out, c.ID)
	}
	return out
}

// newFakeContainers returns containers given as {pod, container}, created one minute apart; the
// last one is new.
func newFakeContainers(now time.Time, names ...[2]string) *fakeContainers {
	f := &fakeContainers{}
	attempts := map[[2]string]uint32{}
	for i, n := range names {
		f.terminated = append(f.terminated, pods.TerminatedContainer{ID: fmt.Sprintf("%s/%s/%d", n[0], n[1], attempts[n]), Pod: types.UID(n[0]), Container: n[1],
			Attempt: attempts[n], Created: now.Add(-time.Duration(len(names)-1-i) * time.Minute), PodDeleted: n[0] == "deleted"})
		attempts[n]++
	}
	return f
}

func TestCollectContainers(t *testing.T) {
	now := time.Unix(1e9, 0)
	a, b, deleted, finished := [2]string{"p", "a"}, [2]string{"p", "b"}, [2]string{"deleted", "a"}, [2]string{"done", "a"}
	names := [][2]string{a, a, b, deleted, a, b, finished, a}
	for name, tc := range map[string]struct {
		change  func(*Policy)
		reclaim bool
		want    []string
	}{
		"one of each":               {want: []string{"p/b/1", "done/a/0", "p/a/3"}},
		"under pressure":            {reclaim: true, want: []string{"p/b/1", "p/a/3"}},
		"two of each":               {change: func(p *Policy) { p.MaxPerPodContainer = 2 }, want: []string{"p/b/0", "p/a/2", "p/b/1", "done/a/0", "p/a/3"}},
		"none":                      {change: func(p *Policy) { p.MaxPerPodContainer = 0 }},
		"any number":                {change: func(p *Policy) { p.MaxPerPodContainer = -1 }, want: []string{"p/a/0", "p/a/1", "p/b/0", "p/a/2", "p/b/1", "done/a/0", "p/a/3"}},
		"by age":                    {change: func(p *Policy) { p.MinContainerAge = 5 * time.Minute }, want: []string{"p/b/0", "deleted/a/0", "p/a/2", "p/b/1", "done/a/0", "p/a/3", "p/a/1"}},
		"4 in all: 1 of each":       {change: func(p *Policy) { p.MaxPerPodContainer, p.MaxContainers = -1, 4 }, want: []string{"p/b/1", "done/a/0", "p/a/3"}},
		"2 in all: also the oldest": {change: func(p *Policy) { p.MaxContainers = 2 }, want: []string{"done/a/0", "p/a/3"}},
		"6 in all: even shares":     {change: func(p *Policy) { p.MaxPerPodContainer, p.MaxContainers = -1, 6 }, want: []string{"p/b/0", "p/a/2", "p/b/1", "done/a/0", "p/a/3"}},
	} {
		f := newFakeContainers(now, names...)
		policy := DefaultPolicy()
		if tc.change != nil {
			tc.change(&policy)
		}
		c, err := New(Options{Service: fake.New(), ImageFs: stats.NewDisk("/"), Policy: policy, Containers: f, Now: func() time.Time { return now },
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
		got := f.ids()
		slices.Sort(got)
		if err != nil || !slices.Equal(got, tc.want) {
			t.Errorf("%s: remaining %q, %v, want %q", name, got, err, tc.want)
		}
	}
}

// TestFailedContainerRemoval checks that a failed removal does not affect other containers.
func TestFailedContainerRemoval(t *testing.T) {
	now := time.Unix(1e9, 0)
	f := newFakeContainers(now, [2]string{"deleted", "a"}, [2]string{"deleted", "b"})
	f.fail = "deleted/a/0"
	c, err := New(Options{Service: fake.New(), ImageFs: stats.NewDisk("/"), Policy: DefaultPolicy(), Containers: f, Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.CollectContainers(context.Background()); err == nil || len(f.terminated) != 1 {
		t.Errorf("remaining %q, %v, want an error and only the busy container", f.ids(), err)
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
