// Package bench measures what a placement decision costs: CPU time and
// allocations of Engine.Decide alone, in process, for the shapes of pods that
// clusters are made of, at several sizes of cluster.
//
// The clock is read around each decision and its own cost taken off; placing the
// pod, removing another and whatever else goes on between decisions is done but
// not counted. "churn" adds a heartbeat for each decision, a changed label for each
// hundredth, and removes pods at random instead of the oldest. Run it by make bench on a
// machine that does nothing else; or look at us-p10, as the mean is everybody's.
package bench
