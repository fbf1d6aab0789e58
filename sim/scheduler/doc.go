// Package scheduler is the actor that runs the scheduler. Its watches become events of the machine (engine/scheduling).
// Package executor executes the effects in coroutines (sim/reconciler). Each request has latency and faults, and the
// scheduler can be killed at it.
package scheduler
