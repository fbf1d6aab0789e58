package displacement

import (
	"time"

	"github.com/berthproject/berth/engine/model"
)

// Action is a request of a Machine to its driver. Each action but Wait and SkipDebit is one read or one write.
type Action interface {
	// Stage is the part of the displacement that the action belongs to.
	Stage() Stage
}

// Stage is a part of a displacement.
type Stage uint8

// The stages. Granting reads and debits the budgets; Executing sets conditions, writes records and deletes pods;
// Undoing clears conditions and refunds debits.
const (
	Granting Stage = iota
	Executing
	Undoing
)

// ReadVictim reads a victim. The result has the pod.
type ReadVictim struct {
	Victim int        // index in Spec.Victims, as in all actions
	Pod    *model.Pod // as last read; its UID is a precondition of all writes
	stage  Stage
}

// ReadBudgets reads the budgets that cover a pod. The result has at least these.
type ReadBudgets struct{ Pod *model.Pod }

// ReadMembers reads the pods of budgets. The result has each pod once.
type ReadMembers struct{ Budgets []*model.Budget }

// ReadBudget reads a budget. The result has the budget.
type ReadBudget struct {
	Namespace, Name string
	stage           Stage
}

// WriteDebit debits a budget that was read, in one update of its status.
type WriteDebit struct {
	Budget *model.Budget
	Debit  Debit
}

// SkipDebit reports that a budget is not debited because the API server rejects it.
type SkipDebit struct{ Budget *model.Budget }

// SetCondition writes the status of a victim: with Mark the DisruptionTarget condition, which has the message of the
// record, and with Fail the phase Failed. If Version is set, the pod must have that resource version. The result has
// the pod.
type SetCondition struct {
	Victim     int
	Record     *Record
	Version    string
	Mark, Fail bool
}

// WriteRecord writes the event and the journal line of a victim, once per pod. The result Rejected means that the API
// server never accepts the event.
type WriteRecord struct {
	Victim int
	Record *Record
}

// Delete deletes a victim. If Version is set, the pod must have that resource version.
type Delete struct {
	Victim  int
	Pod     *model.Pod
	Version string
	Grace   *int64 // seconds; nil: the pod's own
	DryRun  bool
}

// ClearCondition restores the condition of a victim if it is the one that this displacement has set, and the pod is not
// being deleted. Otherwise it writes nothing. With Adopted, it also restores a condition of the same cause that another
// process has set. The result has the pod.
type ClearCondition struct {
	Victim  int
	Pod     *model.Pod
	Adopted bool
}

// WriteRefund takes a debit back from a budget that was read.
type WriteRefund struct {
	Budget *model.Budget
	Debit  Debit
}

// Wait waits before the next attempt.
type Wait struct{ Delay time.Duration }

// Stage implements Action.
func (a ReadVictim) Stage() Stage { return a.stage }

// Stage implements Action.
func (ReadBudgets) Stage() Stage { return Granting }

// Stage implements Action.
func (ReadMembers) Stage() Stage { return Granting }

// Stage implements Action.
func (a ReadBudget) Stage() Stage { return a.stage }

// Stage implements Action.
func (WriteDebit) Stage() Stage { return Granting }

// Stage implements Action.
func (SkipDebit) Stage() Stage { return Granting }

// Stage implements Action.
func (SetCondition) Stage() Stage { return Executing }

// Stage implements Action.
func (WriteRecord) Stage() Stage { return Executing }

// Stage implements Action.
func (Delete) Stage() Stage { return Executing }

// Stage implements Action.
func (ClearCondition) Stage() Stage { return Undoing }

// Stage implements Action.
func (WriteRefund) Stage() Stage { return Undoing }

// Stage implements Action.
func (Wait) Stage() Stage { return Executing }
