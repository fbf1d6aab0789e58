package decision

import "github.com/berthproject/berth/engine/model"

// Preemption is the result of the search for victims.
type Preemption struct {
	Outcome PreemptionOutcome
	// Node and Victims are the selected candidate; set only if Outcome is PreemptionNominated.
	// Victims are sorted by importance, most important first, and include pods that are
	// already terminating.
	Node    string
	Victims []*model.Pod
	// Debits are the disruptions that the victims consume, sorted by namespace and name of the
	// budget. Set if Outcome is PreemptionNominated and the budget ledger is enabled;
	// kube-scheduler debits nothing. Victims that are terminating or in status.disruptedPods
	// of a budget are not debited again.
	Debits []Debit
	// Violations is the number of PDB violations, counted as kube-scheduler does to rank
	// candidates: over all potential victims, including those that are reprieved later. So a
	// victim that counts as a violation may be Granted in Debits.
	Violations int
	// ReasonCounts are the reasons why nodes are not candidates, sorted; set if Outcome is
	// PreemptionNoCandidates. Candidates is the number of candidate nodes. For a nominated pod
	// only the reference evaluator sets both.
	ReasonCounts []ReasonCount
	Candidates   int
	Nodes        int // in the cluster; always set
	// ClearNomination is set if the pod's nomination is no longer valid and must be cleared.
	// Outcome is then PreemptionNoCandidates.
	ClearNomination bool
	Error           string // if Outcome is PreemptionFailed
}

// PreemptionOutcome is the outcome of the search for victims.
type PreemptionOutcome uint8

// The outcomes.
const (
	PreemptionNotTried           PreemptionOutcome = iota // the profile has no preemption, or a PreFilter plugin rejected all nodes
	PreemptionPolicyNever                                 // preemptionPolicy is Never
	PreemptionVictimsTerminating                          // victims of an earlier preemption are still terminating
	PreemptionNoCandidates                                // no node where preemption makes the pod schedulable
	PreemptionNominated                                   // Node and Victims are set
	PreemptionFailed                                      // Error is set
	PreemptionNotNeeded                                   // for a deferred resize that fits its node, which has not admitted it yet
	PreemptionDisabled                                    // the node disables preemption for resizes
)

// String returns a short name of the outcome.
func (o PreemptionOutcome) String() string {
	return [...]string{"not tried", "never", "waits", "none", "nominated", "error", "fits", "disabled"}[o]
}

// Debit is the disruptions of one budget that the victims of one decision consume.
type Debit struct {
	Budget *model.Budget
	// Granted are the names of victims whose eviction the budget allows. Overruled are those
	// evicted although it does not. Both are sorted by importance, most important first.
	Granted, Overruled []string
}
