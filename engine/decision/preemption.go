package decision

import "github.com/berthproject/berth/engine/model"

// Preemption is what came of looking for pods whose leaving would make room.
type Preemption struct {
	Outcome PreemptionOutcome
	// Node and Victims are the choice; set when Tried is Nominated and only then.
	// Victims are sorted by importance, the most important first; those that are
	// being deleted already are among them.
	Node    string
	Victims []*model.Pod
	// Debits are what the victims take from disruption budgets, by the budgets'
	// namespace and name; set when Tried is Nominated and the ledger's rule is on.
	// kube-scheduler itself debits nothing. Victims that are being deleted already or that a
	// budget has in its disruptedPods are paid for and not among the names.
	Debits []Debit
	// Violations is how many victims' leaving goes past a budget, as kube-scheduler
	// counts for its choice: of all pods that might have had to leave the less
	// important are the ones past it, also when the others stay in the end. So a
	// victim that counts as a violation may be Paid in Debits, as these are of the
	// victims alone.
	Violations int
	// ReasonCounts are why nodes cannot be helped, sorted, with all nodes of the cluster
	// that are no candidates; set when Tried is NoneHelps. Candidates is how many
	// nodes could be. Of a Nominated pod the plain path alone knows them, as finding the
	// best does not take looking at the others.
	ReasonCounts []ReasonCount
	Candidates   int
	Nodes        int // in the cluster; always set
	// ClearNomination: the pod's nomination is void and must be taken back. Set when Tried is NoneHelps.
	ClearNomination bool
	Error           string // when Tried is TriedError
}

// PreemptionOutcome is how far preemption came.
type PreemptionOutcome uint8

// The ends of preemption.
const (
	PreemptionNotTried           PreemptionOutcome = iota // the profile has no preemption, or a rule refused all nodes at once
	PreemptionPolicyNever                                 // preemptionPolicy: Never
	PreemptionVictimsTerminating                          // victims of an earlier choice are still leaving
	PreemptionNoCandidates                                // no node can be helped
	PreemptionNominated                                   // Node and Victims say how
	PreemptionFailed                                      // it failed; Error says how
)

// String is the end's word.
func (t PreemptionOutcome) String() string {
	return [...]string{"not tried", "never", "waits", "none", "nominated", "error"}[t]
}

// Debit is what the victims of one decision take from one budget.
type Debit struct {
	Budget *model.Budget
	// Granted are the names of victims that the budget allows to leave; Overruled
	// those that leave although it does not. Both begin with the most important.
	Granted, Overruled []string
}
