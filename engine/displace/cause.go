package displace

import "github.com/berthproject/berth/engine/model"

// Cause is why a pod is displaced.
type Cause uint8

// Preemption: a pod of higher priority needs the room.
const Preemption Cause = 1

// Reason is the reason of the DisruptionTarget condition, as kube-scheduler gives it.
func (c Cause) Reason() string {
	if c == Preemption {
		return "PreemptionByScheduler"
	}
	return ""
}

// Event is the reason of the event, and the action that it names.
func (c Cause) Event() (reason, action string) {
	if c == Preemption {
		return "Preempted", "Preempting"
	}
	return "", ""
}

// Drives says whether a pod is leaving by this cause.
func (c Cause) Drives(p *model.Pod) bool { return p.Deleting && p.Disrupted == c.Reason() }

// Policy is what a displacement does about disruption budgets.
func (c Cause) Policy() Policy {
	if c == Preemption {
		return Policy{Obeying: 1}
	}
	return Policy{Obeying: -1}
}

// Policy is how long budgets are obeyed. What overrules one is booked all the same: the pod
// gets its entry in disruptedPods, and the number stays at 0.
type Policy struct {
	// Obeying is how many choices obey; the next one overrules what still stands
	// in its way. 0: budgets are never asked; negative: they are always obeyed.
	Obeying int
}

// Overrules says whether the nth choice, from 1, goes past budgets.
func (p Policy) Overrules(choice int) bool { return p.Obeying >= 0 && choice > p.Obeying }
