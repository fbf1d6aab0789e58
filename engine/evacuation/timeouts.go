package evacuation

import "time"

// Timeouts bound how long a machine waits. Zero means no limit.
type Timeouts struct {
	EvictionObserved time.Duration // until a granted eviction is observed
	EvictionRetry    time.Duration // for retries of a refused eviction; then the move waits for its turn again
	Termination      time.Duration // until a pod is deleted, after its grace period
	Replacement      time.Duration // from the deletion of a pod until its owner creates another
	Scheduling       time.Duration // until a replacement is scheduled; part of the lifetime of a Hold
	Ready            time.Duration // until a scheduled replacement is Ready

	// Of planned moves. Budget bounds in total how long a budget may refuse a move. Plan bounds how long a move may
	// wait for its start. The move is then abandoned.
	Budget, Plan time.Duration

	// Of drains. SchedulerIdle bounds how long the scheduler may take to place pods that seem to fit, since the last
	// change. BudgetStatus bounds how long the statuses of budgets may be outdated.
	SchedulerIdle, BudgetStatus time.Duration
}

// DrainTimeouts returns timeouts of drains in clusters whose pods become Ready within five minutes.
func DrainTimeouts() Timeouts {
	return Timeouts{EvictionObserved: 30 * time.Second, EvictionRetry: 10 * time.Second, Replacement: 30 * time.Second, Ready: 5 * time.Minute,
		SchedulerIdle: 30 * time.Second, BudgetStatus: 10 * time.Second}
}

// PlanTimeouts returns timeouts of planned moves in clusters whose pods become Ready within five minutes.
func PlanTimeouts() Timeouts {
	return Timeouts{EvictionObserved: 30 * time.Second, EvictionRetry: 5 * time.Second, Termination: time.Minute, Replacement: 30 * time.Second,
		Scheduling: time.Minute, Ready: 5 * time.Minute, Budget: 10 * time.Minute, Plan: 30 * time.Minute}
}
