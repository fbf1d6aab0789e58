// Package random makes simulations from seeds, runs them, and shrinks one that fails to the
// few lines that matter.
//
// A simulation is a scenario (sim/script): a small cluster with nodes, priorities, budgets and
// volumes, a couple of hundred things that happen to it, faults in requests and
// watches, and at the end calm, after which no pod may be pending that could be scheduled. What must hold is
// held after each step (sim.Invariants).
//
// Equal seeds make equal scenarios. Shrinking drops lines while the same invariant
// fails; faults are hashes of names, so that they stay where they were.
package random
