// Package random generates simulations from seeds, runs them, and shrinks failing ones.
//
// A simulation is a scenario (sim/script): a small cluster with nodes, priorities, budgets and
// volumes, a few hundred events, and faults in requests and watches. After a final phase without
// faults, no schedulable pod may be pending. Invariants are checked throughout (invariants.All).
//
// Equal seeds give equal scenarios. Shrinking removes lines while the same invariant fails.
package random
