// Package autoscaling decides the number of replicas of the target of a HorizontalPodAutoscaler.
//
//	Classify(now, pod)                     -> whether a pod counts as ready, unready, missing or ignored
//	Propose(target, current, samples)      -> the replicas that one metric requires
//	Step(now, history, autoscaler, input)  -> the replicas to set, and why
//
// A proposal is the current number of replicas times the ratio of usage to target. Within the tolerance it
// is the current number. Pods without metrics count as using their target when scaling down, and nothing when
// scaling up. Unready pods count as using nothing when scaling up.
//
// Step takes the largest proposal, then applies the stabilization windows, the scaling policies, and the limits.
//
// Invariants, each with a test:
//
//   - Limits: the result is within the minimum and maximum, unless the target has no replicas.
//   - Monotone: a recommendation above the current number never lowers it, and one below never raises it.
//     Without a behavior, a higher recommendation of the last five minutes may still raise it, as in Kubernetes.
//   - MissingMetrics: while a metric has no value, a number within the limits is not lowered.
package autoscaling
