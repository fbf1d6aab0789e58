// Package cluster keeps what is where: nodes, the pods counted on them, and
// everything else that placement reads of a cluster.
//
// A State is a plain value without lock, clock or goroutine; its owner calls it
// from one place at a time. What it answers is a function of the objects it was
// told of (and of assumptions), never of the order in which they came:
//
//   - CountedOnce: a pod is counted on at most one node; finished pods on none.
//   - SumOfPods: NodeInfo.Used, Scoring and Ports are the sums over NodeInfo.Pods.
//   - NothingLost: pods of a node that is not known are kept aside and counted
//     when the node comes. Usage may exceed what is allocatable (other
//     schedulers bind, too).
//   - AssumedOnce: an assumption ends by confirmation (the pod is seen bound),
//     by Forget or by removal, and by nothing else.
//   - TakenOnce: what the plan of a pod in flight takes, volumes and the nodes of claims,
//     counts as taken until it is reported, or the plan is forgotten; that of a pod
//     ends with the pod's own assumption at the latest.
//   - HoldsEnd: a hold counts until it is removed or its owner says that its time is
//     over; what is reserved is a function of holds and pods. See hold.go.
//   - ForksApart: a fork and its parent never see each other's changes.
//
// Index keeps what only the fast path of placement needs: columns, counters by
// topology domain, and the log of changed nodes. It is made when first asked
// for and is not inherited by forks.
//
//   - CountersMean: a counter has what a recount over all pods would give, after
//     any change of pods, nodes, labels and namespaces.
//   - LogTellsAll: who looks again at the nodes that the log names since the last
//     look, knows all of every node: its numbers, its domains, the counts of its fine
//     domains. What changed a node's description is marked as such, too.
//   - LabelsThatCount: pods are told apart by labels only as far as some selector
//     in use reads them.
package cluster
