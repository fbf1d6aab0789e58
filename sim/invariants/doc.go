// Package invariants checks the invariants of every simulation (see All): after every commit, at every
// scheduler step, and when a cluster has settled. The first violation ends the run.
//
// It reads the store, the scheduler's state and the notices of actors. No actor depends on it.
package invariants
