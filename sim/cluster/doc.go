// Package cluster assembles the simulated world and its actors: New returns a cluster with API
// server, scheduler, node agents and controllers under virtual time.
//
//	sim                     the world: clock, API, watches, faults, timeline
//	sim/store               the in-memory API server
//	sim/scheduler           the scheduler's machine; sim/informer makes its events
//	sim/agent               node agents
//	sim/controllers         controllers; workload and descheduler are subpackages
//	sim/displacement        the handler of the eviction API; sim/budgets has the ledger
//	sim/fakeowners          owners that exist only by name
//	sim/invariants          checks after every commit and scheduler step
//
// Programs around it:
//
//   - sim/script: text scenarios
//   - sim/random: generates and shrinks scenarios
//   - sim/chaos: all displacements at once
//   - sim/thrashing: futile moves
//   - sim/trace: clusters and traces given by the user
//   - sim/drainactor: berth drain and kubectl drain
package cluster
