package planning

import (
	"github.com/berthproject/berth/engine/descheduling"
	"github.com/berthproject/berth/engine/model"
)

// Mode is whether the node of a move can be reserved until the replacement is scheduled.
type Mode uint8

// The modes. WithHolds requires that Holds are served and that the pods' scheduler honors them.
const (
	WithHolds Mode = iota
	WithoutHolds
)

// String returns the mode as text.
func (m Mode) String() string { return [...]string{"with Holds", "without Holds"}[m] }

// Plan is the result of a run.
type Plan struct {
	Moves []*Move // in the order of acceptance, each based on the earlier ones
	// Refused are the first refused candidates in order; Counts counts all of them.
	Refused []Refusal
	Counts  []RefusalCount // by reason, without zeros
}

// Move is an eviction and the node where the replacement is expected.
type Move struct {
	Pod      *model.Pod
	From, To string // node names; To is empty for a finished pod, which is only deleted
	Details  *descheduling.PodDetails
	Mode     Mode
	// Emptied is set if From is to be emptied, so nothing moves there. The scheduler may prefer From, but it uses To
	// because a Hold reserves To.
	Emptied bool
	// TopNodes are, without Holds, the names of the nodes that the scheduler may choose, To among
	// them.
	TopNodes          []string
	Strategy, Profile string
	Reason            string // from the strategy
	// Gain is the improvement of the strategy's metric; Metric is empty if the strategy measures
	// none.
	Gain descheduling.Gain
	// Budgets are the effects on disruption budgets if all earlier moves of the plan that need not
	// wait are executed at once.
	Budgets []BudgetEffect
	// WaitReason is why a budget does not allow the move now, or empty.
	WaitReason string
}

// Cleanup reports whether the pod has finished and has no replacement.
func (m *Move) Cleanup() bool { return m.To == "" }

// BudgetEffect is the effect of a move on a budget: the allowed disruptions before and after.
type BudgetEffect struct {
	Budget        string
	Before, After int32
}

// RefusalReason is why a candidate is refused.
type RefusalReason uint8

// The reasons.
const (
	PodUnavailable    RefusalReason = iota // it is deleted, terminating, on another node or already planned to move
	NoController                           // no controller would replace it
	DaemonSetPod                           // its DaemonSet would replace it on the same node
	UnknownScheduler                       // its scheduler has no known profile
	BackingOff                             // such a move failed recently
	NoOtherNode                            // no other node fits
	WouldReturn                            // the scheduler would choose the same node
	NoGain                                 // the strategy's goal would not improve
	BudgetNeverAllows                      // a budget can never allow it
	LimitReached                           // a limit of the policy is reached
	PlanFull                               // without Holds, the plan has evaluated its maximum of candidates
	GroupIncomplete                        // not all moves of its group are possible
	numRefusalReasons
)

// String returns the reason as text.
func (r RefusalReason) String() string {
	return [...]string{"pod unavailable", "no controller", "pod of a DaemonSet", "unknown scheduler", "failed before", "no other node fits",
		"would return", "no gain", "budget never allows it", "limit reached", "plan is full", "group incomplete"}[r]
}

// Refusal is a refused candidate.
type Refusal struct {
	Pod, Node         string // "namespace/name" and the node's name
	Strategy, Profile string
	Reason            RefusalReason
	Message           string // why, with names and numbers
}

// RefusalCount is the number of candidates refused for a reason.
type RefusalCount struct {
	Reason RefusalReason
	Count  int
}
