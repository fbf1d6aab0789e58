package decision

import "github.com/berthproject/berth/engine/model"

// Preemption is what came of looking for pods whose leaving would make room.
type Preemption struct {
	Tried Tried
	// Node and Victims are the choice, when Tried is Nominated. Victims are
	// sorted by importance, the most important first.
	Node    string
	Victims []*model.Pod
	// Debits are what the victims take from disruption budgets, by budget in name order.
	Debits []Debit
	// Violations is how many victims' leaving goes past a budget.
	Violations int
	Candidates int     // nodes that preemption could make fit
	Counts     []Count // why the other nodes cannot be helped
	Nodes      int     // in the cluster
	// Clears: the pod's nomination is void and must be taken back.
	Clears bool
}

// Tried is how far preemption came.
type Tried uint8

// The ends of preemption.
const (
	NotTried   Tried = iota
	NeverMay         // preemptionPolicy: Never
	WaitsFor         // victims of an earlier choice are still leaving
	NoneHelps        // no node can be helped
	Nominated        // Node and Victims say how
	TriedError       // it failed; the error stands in Summary.Error
)

// Debit is what the victims of one decision take from one budget.
type Debit struct {
	Budget *model.Budget
	// Paid are the names of victims that the budget allows to leave; Overruled
	// those that leave although it does not.
	Paid, Overruled []string
}
