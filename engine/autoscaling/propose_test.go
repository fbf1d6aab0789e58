package autoscaling

import (
	"errors"
	"testing"
	"time"
)

func TestClassify(t *testing.T) {
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	base := Pod{Started: now.Add(-time.Hour), HasReady: true, Ready: true, ReadySince: now.Add(-time.Hour), Measured: true, MeasuredAt: now, Window: 15 * time.Second}
	for name, c := range map[string]struct {
		edit        func(*Pod)
		cpu, memory State
	}{
		"ready":                   {func(*Pod) {}, Ready, Ready},
		"deleting":                {func(p *Pod) { p.Deleting, p.Pending = true, true }, Ignored, Ignored},
		"failed":                  {func(p *Pod) { p.Failed = true }, Ignored, Ignored},
		"pending":                 {func(p *Pod) { p.Pending, p.Measured = true, false }, Unready, Unready},
		"without metrics":         {func(p *Pod) { p.Measured = false }, Missing, Missing},
		"no condition":            {func(p *Pod) { p.HasReady = false }, Unready, Ready},
		"not started":             {func(p *Pod) { p.Started = time.Time{} }, Unready, Ready},
		"starting":                {func(p *Pod) { p.Started, p.Ready = now.Add(-time.Minute), false }, Unready, Ready},
		"measured before ready":   {func(p *Pod) { p.Started, p.ReadySince = now.Add(-time.Minute), now.Add(-10*time.Second) }, Unready, Ready},
		"measured while ready":    {func(p *Pod) { p.Started, p.ReadySince = now.Add(-time.Minute), now.Add(-15*time.Second) }, Ready, Ready},
		"never ready":             {func(p *Pod) { p.Ready, p.ReadySince = false, p.Started.Add(29*time.Second) }, Unready, Ready},
		"became unready later on": {func(p *Pod) { p.Ready, p.ReadySince = false, p.Started.Add(30*time.Second) }, Ready, Ready},
	} {
		p := base
		c.edit(&p)
		if cpu, memory := Classify(now, p, true), Classify(now, p, false); cpu != c.cpu || memory != c.memory {
			t.Errorf("%s: %d, %d; want %d, %d", name, cpu, memory, c.cpu, c.memory)
		}
	}
}

// samples returns pods with a request of 100 and the given usages.
func samples(usages ...int64) (out []Sample) {
	for _, u := range usages {
		out = append(out, Sample{Usage: u, Request: 100})
	}
	return out
}

// unmeasured returns n pods in a state, with a usage that must not count.
func unmeasured(state State, n int) (out []Sample) {
	for range n {
		out = append(out, Sample{State: state, Usage: 1000, Request: 100})
	}
	return out
}

func TestPropose(t *testing.T) {
	percent, average := Target{Utilization: 50}, Target{Average: 50}
	for name, c := range map[string]struct {
		target  Target
		current int32
		samples []Sample
		want    int32
	}{
		"at the target":        {percent, 3, samples(50, 50, 50), 3},
		"above":                {percent, 2, samples(100, 90), 4},
		"below":                {percent, 4, samples(10, 10, 10, 10), 1},
		"within the tolerance": {percent, 10, samples(55, 55, 55, 55, 55, 55, 55, 55, 55, 55), 10},
		"beyond the tolerance": {percent, 10, samples(56, 56, 56, 56, 56, 56, 56, 56, 56, 56), 12},
		"average above":        {average, 2, samples(100, 90), 4},
		"average below":        {average, 4, samples(10, 10, 10, 10), 1},
		"missing pods use nothing when scaling up":               {percent, 4, append(samples(100, 100), unmeasured(Missing, 2)...), 4},
		"missing pods use their request when scaling down":       {percent, 3, append(samples(10, 10), unmeasured(Missing, 1)...), 3},
		"average: missing pods use the target when scaling down": {average, 4, append(samples(10, 10, 10), unmeasured(Missing, 1)...), 2},
		"unready pods use nothing when scaling up":               {percent, 3, append(samples(120), unmeasured(Unready, 2)...), 3},
		"unready pods reduce the result when scaling up":         {percent, 3, append(samples(250), unmeasured(Unready, 2)...), 5},
		"unready pods do not count when scaling down":            {percent, 4, append(samples(10, 10), unmeasured(Unready, 2)...), 1},
		"ignored pods do not count":                              {percent, 2, append(samples(100, 100), unmeasured(Ignored, 9)...), 4},
		"fewer pods than replicas":                               {percent, 10, append(samples(100), unmeasured(Missing, 1)...), 10},
	} {
		got, err := Propose(c.target, Tolerance{DefaultTolerance, DefaultTolerance}, c.current, c.samples)
		if err != nil || got.Replicas != c.want {
			t.Errorf("%s: %+v, %v; want %d", name, got, err, c.want)
		}
	}
	if got, _ := Propose(percent, Tolerance{Up: 0.5, Down: 0.01}, 10, samples(70)); got.Replicas != 10 || got.Utilization != 70 || got.Average != 70 {
		t.Errorf("with a tolerance of 50 %%: got %+v, want 10 replicas, 70 and 70", got)
	}
	for want, s := range map[error][]Sample{ErrNoUsage: unmeasured(Unready, 2), ErrNoRequests: {{Usage: 5}}} {
		if _, err := Propose(percent, Tolerance{}, 2, s); !errors.Is(err, want) {
			t.Errorf("%v: error %v, want %v", s, err, want)
		}
	}
}

func TestProposeTotal(t *testing.T) {
	for name, c := range map[string]struct {
		total                   Total
		current, running, ready int32
		want                    int32
	}{
		"value above":          {Total{Usage: 300, Value: 100}, 2, 2, 2, 6},
		"value, unready pods":  {Total{Usage: 300, Value: 100}, 4, 4, 2, 6},
		"value, tolerated":     {Total{Usage: 105, Value: 100}, 4, 4, 2, 4},
		"value, no replicas":   {Total{Usage: 250, Value: 100}, 0, 0, 0, 3},
		"average above":        {Total{Usage: 1000, Average: 100}, 5, 5, 5, 10},
		"average below":        {Total{Usage: 110, Average: 100}, 5, 5, 5, 2},
		"average, tolerated":   {Total{Usage: 1050, Average: 100}, 10, 10, 9, 10},
		"average, no replicas": {Total{Usage: 250, Average: 100}, 1, 0, 0, 3},
	} {
		if got := ProposeTotal(c.total, Tolerance{DefaultTolerance, DefaultTolerance}, c.current, c.running, c.ready); got.Replicas != c.want {
			t.Errorf("%s: %+v, want %d", name, got, c.want)
		}
	}
}
