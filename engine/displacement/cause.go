package displacement

import "github.com/berthproject/berth/engine/model"

// Cause is why a pod is displaced.
type Cause uint8

// The causes. A drain and a rebalancing are requests of the eviction API, whose
// requester says which of them it is.
const (
	None       Cause = iota
	Preemption       // a pod of higher priority needs the room
	API              // somebody asked the eviction API for it
	Taint            // a NoExecute taint that it does not tolerate, or not any longer
	PodGC            // its node is gone, or out of service
	Pressure         // its node ran short of something
	Admission        // its node did not take it
	Shutdown         // its node goes down
	numCauses
)

// causeTable is fixed of each cause. The reasons of conditions are upstream's; those of events
// too, where upstream writes one, and else the condition's.
var causeTable = [numCauses]struct {
	name, reason  string
	event, action string
	opening       string // of the condition's message, as upstream words it
	policy        Policy
	onNode        bool
	avoids        bool
}{
	None: {name: "Unknown", policy: Policy{ObeyingTries: -1}},
	Preemption: {name: "Preemption", reason: "PreemptionByScheduler", event: "Preempted", action: "Preempting",
		opening: "preempting to accommodate a higher priority pod", policy: Policy{ObeyingTries: 1}},
	API: {name: "API", reason: "EvictionByEvictionAPI", event: "EvictionByEvictionAPI", action: "Evicting",
		opening: "Eviction API: evicting", policy: Policy{ObeyingTries: -1}},
	Taint: {name: "Taint", reason: "DeletionByTaintManager", event: "TaintManagerEviction", action: "Deleting",
		opening: "Taint manager: deleting due to NoExecute taint", avoids: true},
	PodGC: {name: "PodGC", reason: "DeletionByPodGC", event: "DeletionByPodGC", action: "Deleting",
		opening: "PodGC: node no longer exists"},
	Pressure:  {name: "Pressure", reason: reasonKubelet, event: "Evicted", action: "Killing", onNode: true, avoids: true},
	Admission: {name: "Admission", reason: reasonKubelet, event: "Rejected", action: "Rejecting", onNode: true, avoids: true},
	Shutdown:  {name: "Shutdown", reason: reasonKubelet, event: "Terminated", action: "Killing", onNode: true, avoids: true},
}

// reasonKubelet is the reason that a node's agent gives, whatever the cause.
const reasonKubelet = "TerminationByKubelet"

// Causes are all causes that there are names of.
func Causes() []Cause { return []Cause{Preemption, API, Taint, PodGC, Pressure, Admission, Shutdown} }

// ParseCause is the cause of a name that String gives; false for any other.
func ParseCause(name string) (Cause, bool) {
	for _, c := range Causes() {
		if causeTable[c].name == name {
			return c, true
		}
	}
	return None, false
}

func (c Cause) orNone() Cause {
	if c >= numCauses {
		return None
	}
	return c
}

// String is the cause's name in records.
func (c Cause) String() string { return causeTable[c.orNone()].name }

// Reason is the reason of the DisruptionTarget condition.
func (c Cause) Reason() string { return causeTable[c.orNone()].reason }

// Event is the reason of the event, and the action that it names.
func (c Cause) Event() (reason, action string) {
	return causeTable[c.orNone()].event, causeTable[c.orNone()].action
}

// MessagePrefix is what the condition's message begins with.
func (c Cause) MessagePrefix() string { return causeTable[c.orNone()].opening }

// IsTerminating says whether a pod is leaving by this cause.
func (c Cause) IsTerminating(p *model.Pod) bool {
	return p.Deleting && p.DisruptionReason == c.Reason()
}

// ByNode says whether the node's agent carries it out by itself, before the API knows.
func (c Cause) ByNode() bool { return causeTable[c.orNone()].onNode }

// Avoids says whether the owner's next pods had better stay off the node for a while.
func (c Cause) Avoids() bool { return causeTable[c.orNone()].avoids }

// Policy is what a displacement does about disruption budgets.
func (c Cause) Policy() Policy { return causeTable[c.orNone()].policy }

// Policy is how long budgets are obeyed. What overrules one is booked all the same: the pod
// gets its entry in disruptedPods, and the number stays at 0.
type Policy struct {
	// ObeyingTries is how many choices obey; the next one overrules what still stands
	// in its way. 0: budgets are never asked; negative: they are always obeyed.
	ObeyingTries int
}

// Overrules says whether the nth choice, from 1, goes past budgets.
func (p Policy) Overrules(choice int) bool { return p.ObeyingTries >= 0 && choice > p.ObeyingTries }
