package autoscaling

import (
	"math"
	"time"
)

// stabilize returns the number of replicas that the recommendations within the windows allow.
func (a Autoscaler) stabilize(now time.Time, h *History, current, desired int32, d *Decision) int32 {
	stable := desired
	reason, message := "ScaleDownStabilized", "recent recommendations were higher than current one, applying the highest recent recommendation"
	if a.Behavior == nil {
		for _, r := range h.recommendations {
			stable = max(stable, r.replicas)
		}
	} else {
		lowest, highest := desired, desired
		for _, r := range h.recommendations {
			if r.at.After(now.Add(-a.Behavior.Up.Window)) {
				lowest = min(lowest, r.replicas)
			}
			if r.at.After(now.Add(-a.Behavior.Down.Window)) {
				highest = max(highest, r.replicas)
			}
		}
		stable = min(max(current, lowest), highest)
		if desired >= current {
			reason, message = "ScaleUpStabilized", "recent recommendations were lower than current one, applying the lowest recent recommendation"
		}
	}
	if stable == desired {
		reason, message = "ReadyForNewScale", "recommended size matches current size"
	}
	d.Able = &Condition{True: true, Reason: reason, Message: message}
	return stable
}

// The conditions of a limited decision.
var (
	tooMany     = Condition{true, "TooManyReplicas", "the desired replica count is more than the maximum replica count"}
	tooFew      = Condition{true, "TooFewReplicas", "the desired replica count is less than the minimum replica count"}
	fasterUp    = Condition{true, "ScaleUpLimit", "the desired replica count is increasing faster than the maximum scale rate"}
	fasterDown  = Condition{true, "ScaleDownLimit", "the desired replica count is decreasing faster than the maximum scale rate"}
	withinRange = Condition{false, "DesiredWithinRange", "the desired count is within the acceptable range"}
)

// limit sets the number of replicas that the policies and the limits allow.
func (a Autoscaler) limit(now time.Time, h *History, current, desired int32, d *Decision) {
	upper, lower := a.Max, a.Min
	upperCondition, lowerCondition := tooMany, tooFew
	if allowed := a.allowedUp(now, h, current); allowed < upper && desired >= current {
		upper, upperCondition = max(allowed, lower), fasterUp
	}
	if a.Behavior != nil && desired < current {
		if allowed := min(current, a.Behavior.Down.allowedReplicas(now, current, h.scaleDowns, h.scaleUps, -1)); allowed > lower {
			lower, lowerCondition = allowed, fasterDown
		}
	}
	limited := withinRange
	switch {
	case desired > upper:
		desired, limited = upper, upperCondition
	case desired < lower:
		desired, limited = lower, lowerCondition
	}
	d.Replicas, d.Limited = desired, &limited
}

// allowedUp returns the maximum number of replicas after a decision to scale up: by default twice the
// current number, but at least 4.
func (a Autoscaler) allowedUp(now time.Time, h *History, current int32) int32 {
	if a.Behavior == nil {
		return int32(max(min(2*int64(current), math.MaxInt32), 4))
	}
	return max(current, a.Behavior.Up.allowedReplicas(now, current, h.scaleUps, h.scaleDowns, 1))
}

// allowedReplicas returns the number of replicas to which the policies allow scaling in a direction, which is 1
// or -1. Changes in the period of a policy count, in both directions.
func (r Rules) allowedReplicas(now time.Time, current int32, same, opposite []entry, direction int32) int32 {
	if r.Select == Disabled {
		return current
	}
	result, found := current, false
	for _, p := range r.Policies {
		from := now.Add(-p.Period)
		start := current - direction*(sumChanges(same, from)-sumChanges(opposite, from))
		to := float64(int64(start) + int64(direction)*int64(p.Value))
		if p.Percent { // the conversions prevent fused operations, whose results differ between platforms
			to = float64(float64(start) * (1 + float64(float64(direction)*float64(p.Value)/100)))
			if direction > 0 {
				to = math.Ceil(to)
			}
		}
		proposed := int32(min(max(to, 0), math.MaxInt32))
		allowsMore := direction*proposed > direction*result
		if !found || allowsMore == (r.Select == MaxChange) {
			result, found = proposed, true
		}
	}
	return result
}
