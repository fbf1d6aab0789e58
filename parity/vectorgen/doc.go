// Command vectorgen generates conformance vectors with kube-scheduler, v1.36.3.
//
// Use it after a change of a placement rule: `make fuzz-parity` evaluates random cases
// (package cases) with kube-scheduler and compares Berth's decisions with package
// conformance. Berth is not linked into this command; the two exchange files.
//
// For every case the command creates an unmodified scheduler, used as a library, on an
// in-memory API with the objects of the case. Its informers fill its cache, queue and
// nominator. Each case has two attempts on the same snapshot. SchedulePod of the scheduler
// makes the first, for the outcome and the message. The command makes the second plugin by
// plugin through the scheduler's framework, for the verdict of each node. If the two differ
// in the feasible nodes, the rejections or the chosen node, the command drops and counts the
// case. The schema is that of the recorded vectors. The same seed makes the same cases.
// Preemption is evaluated without evictions.
package main
