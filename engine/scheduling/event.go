package scheduling

import "github.com/berthproject/berth/engine/model"

// Event is something that happened. A pointer to a value of engine/model says how
// that object of the cluster is now; it may not be changed any more. A Remove says that an
// object is gone, and an Outcome answers an effect.
type Event any

// Remove says that an object is gone. Of Object only the identity is read: the
// uid of a pod, the names of everything else.
type Remove struct{ Object any }

// Outcome answers an effect.
type Outcome struct {
	ID     uint64
	Result Result
	Reason string // unless Done
	// Pod is, for a Look that is Done, the pod as it is; nil when it is gone.
	Pod *model.Pod
	// ExtenderResult is for an Ask that is Done, Candidates for an AskVictims.
	ExtenderResult *ExtenderResult
	Candidates     []Candidate
	// Budgets are, for a Preempt that is Refused, those that did not allow it, and those that got back what was taken before, as they are.
	Budgets []*model.Budget
}

// Result is how an effect ended.
type Result uint8

// The results. Refused will not change by asking again; Conflict means that
// the object is not as it was thought to be; Unknown that it was sent, or may have been,
// and nothing was heard.
const (
	Done Result = iota
	Refused
	Conflict
	Unknown
)

// String is the result's word.
func (r Result) String() string {
	return [...]string{"done", "refused", "conflict", "unknown"}[r]
}
