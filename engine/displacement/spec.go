package displacement

import (
	"github.com/berthproject/berth/engine/budget"
	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/model"
)

// Spec is a displacement to perform: one decision about one or more pods.
type Spec struct {
	// Record has what the records of all victims share. Its cause determines the budget policy.
	Record  Record
	Attempt int // number of the attempt, from 1; see Policy.Overrules
	Victims []Victim
	// Debits are the disruptions that the victims consume, in the order of the budgets' names. For an Eviction the
	// Machine determines them.
	Debits []decision.Debit
	// Resume is set if an earlier run, maybe of another process, may have executed a part of the displacement.
	Resume bool
	// Eviction is set for a request to the eviction API, which has one victim.
	Eviction *EvictionRequest
}

// Victim is a pod to displace.
type Victim struct {
	Pod *model.Pod // as last observed; its UID is a precondition of every write, if it is set
	// Fail also sets the phase Failed, for a pod that no node agent reports any more.
	Fail bool
}

// EvictionRequest has the parameters of a request to the eviction API. The budgets at the time of the request
// decide about it. The API server returns a failure to the client, which does not retry. Therefore the machine
// retries a failed eviction, and then undoes it.
type EvictionRequest struct {
	Rules budget.Evictions
	// UID and ResourceVersion are preconditions; empty: none.
	UID, ResourceVersion string
	// KeepDebits behaves as kube-apiserver: the preconditions are checked after the debit, and a failed eviction is not
	// undone.
	KeepDebits bool
	DryRun     bool
}

// Status is the status of an executed action.
type Status uint8

// The statuses.
const (
	Done     Status = iota
	Absent          // the object does not exist
	Conflict        // the object is not as required: it has changed, or another one has its name
	Rejected        // the API server rejects the request, and would reject a repetition
	Unknown         // the request may or may not have been executed, or a repetition may succeed
)

// Result is the result of an action.
type Result struct {
	Status Status
	Pod    *model.Pod // with ResourceVersion
	// Own is set if the pod has the condition that this displacement has set.
	Own bool
	// Uncertain is set if this process sent the record of an absent pod without receiving a response.
	Uncertain bool
	Budgets   []*model.Budget
	Pods      []*model.Pod
}

// Outcome is how a displacement ends.
type Outcome struct {
	Kind OutcomeKind
	// Victim is the pod that a failure is about.
	Victim int
	// Pod is the pod that does not meet a precondition.
	Pod *model.Pod
	// Verdict is the refusal of a budget. Required is how many disruptions the budget must allow.
	Verdict  budget.Verdict
	Required int
	// Refunded are the budgets after their refunds.
	Refunded []*model.Budget
}

// OutcomeKind is the kind of an Outcome.
type OutcomeKind uint8

// The outcomes. All but Displaced and Unfinished are undone. The machine clears the conditions and refunds the debits,
// except those that another actor relies on and those whose requests fail. Entries that are not removed expire after
// budget.EntryAge.
const (
	Displaced    OutcomeKind = iota // every victim is deleted, or another pod has its name
	Refused                         // a budget does not allow it
	UnmetUID                        // an Eviction requires another UID
	UnmetVersion                    // an Eviction requires another resource version
	Failed                          // the API server rejects it, or an Eviction failed
	Exhausted                       // an Eviction failed after all attempts
	Unfinished                      // a part of it may be executed; the caller must repeat it
)
