// Command kube makes conformance vectors with the real kube-scheduler, v1.36.3.
//
// It is for whoever changes a rule of placement: `make fuzz-parity` lets it answer
// random cases (package cases) and compares Berth's answers with its own, by the
// runner of package conformance. Berth is not linked here: the two meet in files.
//
// For every case a whole unmodified scheduler is made as a library, on an in-memory
// API that holds the case's objects; its own informers fill its cache, queue and
// nominator. The attempt is made twice on the same snapshot: once by the scheduler
// (SchedulePod), for the outcome and the message, and once plugin by plugin through
// its framework, for the verdict of each node. Invariants: the two agree in the
// feasible nodes, the refusals and the node chosen, or the case is dropped and
// counted; the schema is that of the recorded vectors; the same seed makes the same
// cases. Preemption is not asked for.
package main
