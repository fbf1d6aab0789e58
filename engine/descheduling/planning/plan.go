package planning

import (
	"github.com/berthproject/berth/engine/descheduling"
	"github.com/berthproject/berth/engine/model"
)

// Mode says whether the node that a move goes to can be held until the replacement is there.
type Mode uint8

// The modes. Held: the pods' scheduler heeds Holds, and they are served. Unheld: it does not.
const (
	WithHolds Mode = iota
	WithoutHolds
)

// String is the mode in a word.
func (m Mode) String() string { return [...]string{"held", "unheld"}[m] }

// Plan is what a round came to.
type Plan struct {
	Moves []*Move // in the order in which they were accepted, each on what the earlier ones leave
	// Refused are the candidates that stay, the first ones in order; Counts counts all of them.
	Refused []Refusal
	Counts  []RefusalCount // by Why, those that there are
}

// Move is a pod that is to leave its node, and where its replacement goes.
type Move struct {
	Pod      *model.Pod
	From, To string // node names; To is empty for a finished pod, which is only cleaned up
	// Details are what descheduling reads of the pod.
	Details *descheduling.PodDetails
	// Mode says whether the node can be held.
	Mode Mode
	// Emptied: its node is to be emptied, so that nothing moves there. The scheduler may like that node best, and takes the
	// other because it is held.
	Emptied bool
	// TopNodes are, where the place is not held, the nodes that the scheduler may choose, by name: To is among them.
	TopNodes          []string
	Strategy, Profile string
	Reason            string // the strategy's, in words
	// Gain is how far the strategy's goal gets closer; without Of the strategy measures none.
	Gain descheduling.Gain
	// Budgets are what the move takes from disruption budgets, by name, if all earlier moves of the plan
	// that do not wait go at once; none where no budget covers the pod.
	Budgets []BudgetEffect
	// WaitReason says what a budget that does not allow it now says; empty: it may go.
	WaitReason string
}

// Cleanup says that the pod has finished and nothing replaces it.
func (m *Move) Cleanup() bool { return m.To == "" }

// BudgetEffect is what a move takes from a budget: how many disruptions it allows before and after.
type BudgetEffect struct {
	Budget        string
	Before, After int32
}

// RefusalReason is the kind of a refusal.
type RefusalReason uint8

// Why a candidate stays.
const (
	PodGone           RefusalReason = iota // it is not on the node any more, or leaves already
	NoController                           // nobody would replace it
	DaemonSetPod                           // its replacement would be put on the same node by its DaemonSet
	UnknownScheduler                       // no profile is known of its scheduler
	BackingOff                             // such a move came back not long ago
	NoOtherNode                            // it fits no other node
	WouldReturn                            // the scheduler would put it back
	NoGain                                 // the goal would not get closer
	BudgetNeverAllows                      // a budget can never allow it
	LimitReached                           // a limit of the policy is reached
	PlanFull                               // where no place is held, as many were looked at as one plan does
	GroupIncomplete                        // the group that it belongs to did not come about as a whole
	numRefusalReasons
)

// String is the kind in words.
func (w RefusalReason) String() string {
	return [...]string{"gone", "nobody replaces it", "pod of a DaemonSet", "unknown scheduler", "came back before", "fits no other node",
		"would come straight back", "no gain", "budget never allows it", "limit reached", "enough for one plan", "not all of its group can move"}[w]
}

// Refusal is a candidate that stays.
type Refusal struct {
	Pod, Node         string // "namespace/name", and the node's name
	Strategy, Profile string
	Reason            RefusalReason
	Message           string // why, with names and numbers
}

// RefusalCount is how many candidates were refused for a reason.
type RefusalCount struct {
	Reason RefusalReason
	Count  int
}
