// Package bench measures what a placement decision costs: CPU time and
// allocations of Engine.Decide alone, in process, for the shapes of pods that
// clusters are made of, at several sizes of cluster.
//
// The clock is read around each decision and its own cost taken off; placing the
// pod, removing another and whatever else goes on between decisions is done but
// not counted. Run it by
//
//	go test ./bench -run TestDecisions -bench-decisions -v
//
// BenchmarkWay is the whole way of a pod through the process, the machine of
// scheduling and its intake included.
//
// Measure on a machine that does nothing else; figures are medians, as others may be.
package bench
