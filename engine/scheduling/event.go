package scheduling

import (
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/scheduling/profiles"
)

// Event is a change of the cluster. A pointer to a type of engine/model is the current state of
// that object and must not be modified afterwards. Remove reports a deleted object, and Outcome the
// result of an effect.
type Event any

// Remove reports a deleted object. Only the identity of Object is read: the UID of a pod, the names
// of all other objects.
type Remove struct{ Object any }

// Outcome is the result of an effect.
type Outcome struct {
	ID     uint64
	Result Result
	Reason string // unless Done
	// Pod is the pod that a RefreshPod returned, or nil if it was deleted.
	Pod *model.Pod
	// ExtenderResult is for CallExtenders, Candidates for CallPreemptionExtenders.
	ExtenderResult *ExtenderResult
	Candidates     []profiles.Candidate
	// Budgets are, for a refused Preempt, the budgets that did not allow it and those whose debit was
	// reverted.
	Budgets []*model.Budget
}

// Result is how an effect ended.
type Result uint8

// The results. Refused means that a retry does not help. Conflict means that the object has
// changed. Unknown means that the request may have been executed.
const (
	Done Result = iota
	Refused
	Conflict
	Unknown
)

// String returns the result's name.
func (r Result) String() string {
	return [...]string{"done", "refused", "conflict", "unknown"}[r]
}
