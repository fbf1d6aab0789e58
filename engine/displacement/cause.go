package displacement

import "github.com/berthproject/berth/engine/model"

// Cause is why a pod is displaced.
type Cause uint8

// The causes. Drains and descheduling use the eviction API; the requester distinguishes them.
const (
	None       Cause = iota
	Preemption       // a pod with a higher priority needs its resources
	API              // API-initiated eviction
	Taint            // a NoExecute taint that the pod does not tolerate
	PodGC            // the node no longer exists
	Pressure         // node-pressure eviction
	Admission        // the node rejected the pod
	Shutdown         // node shutdown
	numCauses
)

// causeTable has the properties of each cause. Reasons of conditions are those of Kubernetes;
// reasons of events, too, where Kubernetes writes an event.
var causeTable = [numCauses]struct {
	name, reason  string
	event, action string
	messagePrefix string // start of the condition's message, as in Kubernetes
	policy        Policy
	onNode        bool
	avoids        bool
}{
	None: {name: "Unknown", policy: Policy{ObeyingAttempts: -1}},
	Preemption: {name: "Preemption", reason: "PreemptionByScheduler", event: "Preempted", action: "Preempting",
		messagePrefix: "preempting to accommodate a higher priority pod", policy: Policy{ObeyingAttempts: 1}},
	API: {name: "API", reason: "EvictionByEvictionAPI", event: "EvictionByEvictionAPI", action: "Evicting",
		messagePrefix: "Eviction API: evicting", policy: Policy{ObeyingAttempts: -1}},
	Taint: {name: "Taint", reason: "DeletionByTaintManager", event: "TaintManagerEviction", action: "Deleting",
		messagePrefix: "Taint manager: deleting due to NoExecute taint", avoids: true},
	PodGC: {name: "PodGC", reason: "DeletionByPodGC", event: "DeletionByPodGC", action: "Deleting",
		messagePrefix: "PodGC: node no longer exists"},
	Pressure:  {name: "Pressure", reason: reasonKubelet, event: "Evicted", action: "Killing", onNode: true, avoids: true},
	Admission: {name: "Admission", reason: reasonKubelet, event: "Rejected", action: "Rejecting", onNode: true, avoids: true},
	Shutdown:  {name: "Shutdown", reason: reasonKubelet, event: "Terminated", action: "Killing", onNode: true, avoids: true},
}

// reasonKubelet is the condition's reason for every displacement by a kubelet.
const reasonKubelet = "TerminationByKubelet"

// Causes returns all named causes.
func Causes() []Cause { return []Cause{Preemption, API, Taint, PodGC, Pressure, Admission, Shutdown} }

// ParseCause returns the cause with the given name. It returns false if there is none.
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

// String returns the cause's name in records.
func (c Cause) String() string { return causeTable[c.orNone()].name }

// Reason returns the reason of the DisruptionTarget condition.
func (c Cause) Reason() string { return causeTable[c.orNone()].reason }

// Event returns the event's reason and action.
func (c Cause) Event() (reason, action string) {
	return causeTable[c.orNone()].event, causeTable[c.orNone()].action
}

// MessagePrefix returns the start of the condition's message.
func (c Cause) MessagePrefix() string { return causeTable[c.orNone()].messagePrefix }

// IsTerminating reports whether a pod is terminating for this cause.
func (c Cause) IsTerminating(p *model.Pod) bool {
	return p.Deleting && p.DisruptionReason == c.Reason()
}

// ByNode reports whether the kubelet displaces the pod without an API request.
func (c Cause) ByNode() bool { return causeTable[c.orNone()].onNode }

// Avoids reports whether the owner's next pods should avoid the node for a while.
func (c Cause) Avoids() bool { return causeTable[c.orNone()].avoids }

// Policy returns how the cause treats disruption budgets.
func (c Cause) Policy() Policy { return causeTable[c.orNone()].policy }

// Policy states how many attempts obey budgets. A displacement that overrules a budget is recorded as
// well: the pod gets an entry in disruptedPods, and disruptionsAllowed stays at 0.
type Policy struct {
	// ObeyingAttempts is the number of attempts that obey budgets; the next one overrules them. 0: none
	// obeys; negative: all obey.
	ObeyingAttempts int
}

// Overrules reports whether the nth attempt, from 1, overrules budgets.
func (p Policy) Overrules(attempt int) bool {
	return p.ObeyingAttempts >= 0 && attempt > p.ObeyingAttempts
}
