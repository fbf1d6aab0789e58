// Package placement selects the node of a pod. It is the counterpart of kube-scheduler's
// scheduling cycle up to the selection of a node.
//
// Evaluate is the reference evaluator. It runs the PreFilter, Filter, PreScore and Score extension points of all
// enabled plugins on every node. It recomputes all topology counts from the pods and returns a complete
// decision.Record. The fast path must return the same decision.
//
// The packages below it:
//
//   - framework: profiles (Config, Profile) and the Evaluation that plugins work on.
//   - plugins: one file per plugin, named as in kube-scheduler, and the registry.
//   - fastpath: Engine returns the decisions of Evaluate from score caches. The scheduler
//     uses it for every decision that does not need a Record.
//   - queueinghints: whether a cluster event may make an unschedulable pod schedulable.
//
// Adding a score plugin touches three files: its name in engine/decision/plugin.go, a file
// plugins/NAME.go, and its entry in plugins/registry.go. For a profile with a plugin that
// fastpath does not implement, Engine uses the reference evaluator.
//
// Invariants:
//
//   - The verdict on a node is that of the first plugin, in the order of the profile, that
//     rejects it.
//   - Every node is filtered and every feasible node is scored; there is no sampling. The
//     exception is a nominated or reserved node that fits, which is selected at once.
//   - Among nodes with the highest total, the selection is a function of the seed,
//     model.Pod.TieKey and the node names; see TieBreaker.
//   - No result depends on map order.
//   - Engine returns the same node, total score, number of feasible nodes, histogram of
//     reasons and number of resolvable nodes as Evaluate. A fuzz test checks this.
//
// Preemption uses DryRun to filter nodes without some of their pods. It uses fastpath.NodeLocalPod
// for pods whose verdict on a node does not depend on other nodes.
//
// Avoid Holds reject nodes before all other filters. The capacity of a Reserve Hold counts as that of a nominated pod,
// except for pods of its owner. The first replacement is placed on the reserved node if it fits.
//
// Differences from kube-scheduler: a plugin may be enabled for Filter but not for PreFilter, or for Score but not for
// PreScore. In kube-scheduler, the attempt fails. Pods with resource claims or a scheduling group are gated, because
// Berth does not allocate devices or schedule groups yet. If only one node is feasible, its scores are recorded.
package placement
