// Package cluster runs Berth under virtual time: the production state machines of scheduler, node
// agent and controllers, around an in-memory API server (sim/store) whose watches lag, break and
// repeat, whose responses get lost, and whose clients are killed at any point.
//
// A Cluster has one clock and one heap of timed calls. Its files are grouped by what they simulate:
//
//	world, timeline, faults, counts         the clock, the event log, injected faults, statistics
//	client, reflector, workqueue, stepper   an actor's access to the API and its event loop
//	scheduler, request, effects, preempt    the scheduler's machine; effects become requests
//	agents, containers, heartbeat,          node agents: pod lifecycles, containers scripted by
//	nodepressure, admission, rejection      annotations, Leases and conditions, node pressure
//	disruption, evictions, displacement     disruption controller and eviction API
//	tainteviction, nodelifecycle, podgc     the controllers of the same names
//	workloads, replacer, endpoints,         Deployments to DaemonSets, fake owners, EndpointSlices,
//	volumes, records                        volumes, displacement records
//	descheduler                             the descheduler, planned or compatible
//	audit                                   the invariants (see Invariants)
//
// Each actor has only the objects that its own watches delivered. A killed actor loses its state and
// restarts from a list. Invariants are checked after every commit and every scheduler step; the
// first Violation ends the run.
//
// A run is a function of its options and of the calls scheduled with At: there is no wall clock,
// no goroutine and no map iteration order. Randomness is a hash of the seed and of names, so that
// removing one event changes only what depends on it.
//
// Related packages: script (text scenarios), random (generates and shrinks scenarios), replay
// (records and replays the scheduler's inputs), chaos (all displacements at once), thrashing
// (futile moves), trace (clusters and traces given by the user), drainactor (berth drain).
package cluster
