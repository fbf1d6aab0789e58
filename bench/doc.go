// Package bench measures the cost of a placement decision: CPU time and allocations of
// Engine.Decide alone, in process, for common kinds of pods and several sizes of cluster.
//
// The clock is read before and after each decision, and the cost of reading it is subtracted. Assuming
// the pod, removing another one and other work between decisions are not counted. "churn" adds a
// heartbeat for each decision and a changed label for each hundredth, and removes random
// pods instead of the oldest. Run it with make bench on an idle machine. On a busy machine
// use us-p10, because the mean includes the other load.
package bench
