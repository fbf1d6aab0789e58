package autoscaling

import "time"

// DownWindow is the default stabilization window for scaling down.
const DownWindow = 5 * time.Minute

// Autoscaler is the specification of a HorizontalPodAutoscaler.
type Autoscaler struct {
	Min, Max int32     // replicas
	Behavior *Behavior // nil: default rules
}

// Behavior limits how fast the number of replicas changes.
type Behavior struct{ Up, Down Rules }

// Rules are the rules of one direction.
type Rules struct {
	Window   time.Duration // stabilization window
	Select   Selection
	Policies []Policy
}

// Selection selects the policy that applies if there are several (selectPolicy).
type Selection uint8

// The selections.
const (
	MaxChange Selection = iota // the policy that allows the largest change
	MinChange                  // the policy that allows the smallest change
	Disabled                   // no change in this direction
)

// Policy limits the change within a period.
type Policy struct {
	Percent bool // Value is in percent of the replicas at the start of the period; otherwise it is a number of replicas
	Value   int32
	Period  time.Duration
}

// Metric is the result of one metric.
type Metric struct {
	Name     string
	Failed   bool  // the metric has no value
	Replicas int32 // that the metric requires; 0 if it failed
}

// Input holds the inputs of a decision.
type Input struct {
	Current int32 // replicas of the target
	Metrics []Metric
}

// Condition is a condition of the autoscaler.
type Condition struct {
	True            bool
	Reason, Message string
}

// Decision is the result of Step.
type Decision struct {
	Replicas int32  // to set
	Reason   string // why the number changes
	Metric   string // the metric with the largest proposal; empty if the limits decide
	// Disabled is set if the target has no replicas, NoMetrics if the metrics do not allow a decision. Neither changes
	// the number.
	Disabled, NoMetrics bool
	// Able and Limited are the conditions AbleToScale and ScalingLimited; nil means unchanged.
	Able, Limited *Condition
}

// Step returns the number of replicas to set at now. It records the recommendation in h.
func Step(now time.Time, h *History, a Autoscaler, in Input) Decision {
	if len(h.recommendations) == 0 {
		h.recommend(now, in.Current)
	}
	switch {
	case in.Current == 0 && a.Min != 0:
		return Decision{Disabled: true}
	case in.Current > a.Max:
		return Decision{Replicas: a.Max, Reason: "Current number of replicas above Spec.MaxReplicas"}
	case in.Current < a.Min:
		return Decision{Replicas: a.Min, Reason: "Current number of replicas below Spec.MinReplicas"}
	}
	desired, name, ok := largestProposal(in)
	if !ok {
		return Decision{NoMetrics: true, Replicas: in.Current}
	}
	d := Decision{Metric: name}
	switch {
	case desired > in.Current:
		d.Reason = name + " above target"
	case desired < in.Current:
		d.Reason = "All metrics below target"
	}
	h.prune(now, a)
	stable := a.stabilize(now, h, in.Current, desired, &d)
	h.recommend(now, desired)
	a.limit(now, h, in.Current, stable, &d)
	return d
}

// largestProposal returns the largest proposal. It reports false if all metrics failed, or if one failed and the others
// propose fewer replicas than now.
func largestProposal(in Input) (replicas int32, name string, ok bool) {
	failed := 0
	for _, m := range in.Metrics {
		switch {
		case m.Failed:
			failed++
		case !ok || m.Replicas > replicas:
			replicas, name, ok = m.Replicas, m.Name, true
		}
	}
	return replicas, name, ok && (failed == 0 || replicas >= in.Current)
}
