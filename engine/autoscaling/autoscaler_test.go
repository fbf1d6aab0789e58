package autoscaling

import (
	"math/rand"
	"testing"
	"time"
)

var start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// minute is one decision of a test: the recommendation and the expected result.
type minute struct {
	recommendation, replicas int32
	able, limited            string
}

// run calls Step once per minute and scales to the result.
func run(t *testing.T, name string, a Autoscaler, current int32, minutes ...minute) {
	t.Helper()
	h := &History{}
	for i, m := range minutes {
		now := start.Add(time.Duration(i) * time.Minute)
		d := Step(now, h, a, Input{Current: current, Metrics: []Metric{{Name: "cpu", Replicas: m.recommendation}}})
		if d.Replicas != m.replicas || d.Able == nil || d.Able.Reason != m.able || d.Limited.Reason != m.limited || d.Limited.True != (m.limited != "DesiredWithinRange") {
			t.Errorf("%s, minute %d: got %+v, conditions %+v and %+v; want %+v", name, i, d, d.Able, d.Limited, m)
		}
		h.Scaled(now, current, d.Replicas)
		current = d.Replicas
	}
}

func TestStep(t *testing.T) {
	const inRange, ready, stabilized = "DesiredWithinRange", "ReadyForNewScale", "ScaleDownStabilized"
	all := Rules{Policies: []Policy{{Percent: true, Value: 100, Period: 15 * time.Second}}}
	rules := func(up, down Rules) Autoscaler {
		return Autoscaler{Min: 1, Max: 100, Behavior: &Behavior{Up: up, Down: down}}
	}
	pods := func(s Selection, value int32, period time.Duration) Rules {
		return Rules{Select: s, Policies: []Policy{{Value: value, Period: period}, {Percent: true, Value: 50, Period: period}}}
	}
	withoutBehavior := Autoscaler{Min: 2, Max: 10}
	run(t, "no more than twice, no more than the maximum", withoutBehavior, 3, minute{9, 6, ready, "ScaleUpLimit"}, minute{20, 10, ready, "TooManyReplicas"})
	run(t, "four at once", withoutBehavior, 2, minute{9, 4, ready, "ScaleUpLimit"})
	run(t, "down after five minutes", withoutBehavior, 6, minute{6, 6, ready, inRange}, minute{1, 6, stabilized, inRange}, minute{3, 6, stabilized, inRange}, minute{4, 6, stabilized, inRange}, minute{3, 6, stabilized, inRange},
		minute{1, 4, stabilized, inRange}, minute{1, 4, stabilized, inRange}, minute{1, 4, stabilized, inRange}, minute{1, 3, stabilized, inRange}, minute{1, 2, ready, "TooFewReplicas"})
	run(t, "disabled", rules(Rules{Select: Disabled}, Rules{Select: Disabled}), 5, minute{9, 5, ready, "ScaleUpLimit"}, minute{1, 5, ready, "ScaleDownLimit"})
	run(t, "the larger policy up", rules(pods(MaxChange, 2, time.Minute), all), 10, minute{90, 15, ready, "ScaleUpLimit"}, minute{90, 23, ready, "ScaleUpLimit"})
	run(t, "the smaller policy up", rules(pods(MinChange, 2, time.Minute), all), 10, minute{90, 12, ready, "ScaleUpLimit"})
	run(t, "the larger policy down", rules(all, pods(MaxChange, 2, time.Minute)), 10, minute{1, 5, ready, "ScaleDownLimit"}, minute{1, 2, ready, "ScaleDownLimit"})
	run(t, "the smaller policy down", rules(all, pods(MinChange, 2, time.Minute)), 10, minute{1, 8, ready, "ScaleDownLimit"})
	run(t, "a period of several minutes", rules(pods(MinChange, 2, 3*time.Minute), all), 10, minute{90, 12, ready, "ScaleUpLimit"}, minute{90, 12, ready, "ScaleUpLimit"},
		minute{90, 12, ready, "ScaleUpLimit"}, minute{90, 14, ready, "ScaleUpLimit"})
	slow := all
	slow.Window = 2 * time.Minute
	run(t, "a window for scaling up", rules(slow, all), 2, minute{2, 2, ready, inRange}, minute{4, 2, "ScaleUpStabilized", inRange}, minute{3, 3, ready, inRange}, minute{4, 3, "ScaleUpStabilized", inRange}, minute{4, 4, ready, inRange})
	run(t, "a window for scaling down", rules(all, slow), 4, minute{4, 4, ready, inRange}, minute{1, 4, stabilized, inRange}, minute{2, 2, ready, inRange}, minute{1, 2, stabilized, inRange}, minute{1, 1, ready, inRange})
}

func TestStepWithoutDecision(t *testing.T) {
	a := Autoscaler{Min: 2, Max: 10}
	metric := func(replicas int32, failed bool) Metric { return Metric{Name: "m", Replicas: replicas, Failed: failed} }
	for name, c := range map[string]struct {
		in   Input
		want Decision
	}{
		"no replicas":            {Input{Current: 0}, Decision{Disabled: true}},
		"too many":               {Input{Current: 11}, Decision{Replicas: 10, Reason: "Current number of replicas above Spec.MaxReplicas"}},
		"too few":                {Input{Current: 1}, Decision{Replicas: 2, Reason: "Current number of replicas below Spec.MinReplicas"}},
		"no metric":              {Input{Current: 3, Metrics: []Metric{metric(0, true)}}, Decision{Replicas: 3, NoMetrics: true}},
		"down with a failed one": {Input{Current: 3, Metrics: []Metric{metric(0, true), metric(2, false)}}, Decision{Replicas: 3, NoMetrics: true}},
	} {
		if got := Step(start, &History{}, a, c.in); got != c.want {
			t.Errorf("%s: got %+v, want %+v", name, got, c.want)
		}
	}
	got := Step(start, &History{}, a, Input{Current: 3, Metrics: []Metric{metric(0, true), metric(4, false), {Name: "n", Replicas: 5}}})
	if got.Replicas != 5 || got.Metric != "n" || got.Reason != "n above target" {
		t.Errorf("scaling up with a failed metric: got %+v, want 5 replicas by n", got)
	}
}

// TestInvariants checks Limits, Monotone and MissingMetrics for random autoscalers and histories.
func TestInvariants(t *testing.T) {
	random := rand.New(rand.NewSource(1))
	rules := func() Rules {
		r := Rules{Window: time.Duration(random.Intn(300)) * time.Second, Select: Selection(random.Intn(3))}
		for range 1 + random.Intn(3) {
			r.Policies = append(r.Policies, Policy{Percent: random.Intn(2) == 0, Value: 1 + random.Int31n(200), Period: time.Duration(1+random.Intn(300)) * time.Second})
		}
		return r
	}
	for range 2000 {
		a := Autoscaler{Min: 1 + random.Int31n(5)}
		a.Max = a.Min + random.Int31n(50)
		if random.Intn(3) > 0 {
			a.Behavior = &Behavior{Up: rules(), Down: rules()}
		}
		h, current, now := &History{}, a.Min, start
		for range 20 {
			now = now.Add(time.Duration(random.Intn(120)) * time.Second)
			m := []Metric{{Replicas: random.Int31n(80)}, {Replicas: random.Int31n(80), Failed: random.Intn(4) == 0}}
			d := Step(now, h, a, Input{Current: current, Metrics: m})
			desired, _, _ := largestProposal(Input{Metrics: m})
			switch {
			case d.Replicas < a.Min || d.Replicas > a.Max:
				t.Fatalf("Limits: %d replicas, want %d to %d", d.Replicas, a.Min, a.Max)
			case desired > current && d.Replicas < current, desired < current && d.Replicas > current && a.Behavior != nil:
				t.Fatalf("Monotone: scaled from %d to %d, want no step away from %d", current, d.Replicas, desired)
			case m[1].Failed && d.Replicas < current:
				t.Fatalf("MissingMetrics: scaled from %d to %d without a metric, want no scaling down", current, d.Replicas)
			}
			h.Scaled(now, current, d.Replicas)
			current = d.Replicas
		}
	}
}
