// Package placement decides on which node a pod runs: what holds it back, which
// nodes it fits, how good each of them is, and which is taken.
//
// Evaluate is the plain path: it compiles the pod, judges every node with every
// rule, scores every node that fits, and recomputes topology counts from the
// pods. It is the reference for ever, and what explains a decision. It shares
// nothing that is kept up to date with the fast path, but the sums of requests
// on a node.
//
//	Gate ──▶ compile (refuse, narrow, skip) ──▶ judge node ──▶ compile scorers ──▶ raw ──▶ normalise ──▶ choose
//
// A rule is a file: what it makes of a pod (compiled), its verdict on a node
// with numbers, its points for a node (scoring), and, in wakes.go, which
// changes in the cluster can undo its verdict. Waiter says of a change with its object
// whether it can help a pod that waits.
//
// Invariants:
//
//   - FirstRejects: a node's verdict is that of the first rule, in the order of
//     the profile, that rejects it.
//   - AllNodes: every node is judged and every feasible one scored; nothing is
//     sampled. Only a nominated node that fits, or else one that is held for the pod, is
//     taken without a look at the others.
//   - SeedDecides: among nodes with the highest total the choice is a function of the
//     seed, the pod's model.Pod.TieKey and the nodes' names.
//   - NoMapOrder: no result depends on the order of a map.
//
// Engine is the fast path, for every decision that nobody asks to explain: the
// files engine, shape, scan, view, narrow, nominated, stored. What it keeps between decisions is
// only in cluster.Index and in its views; tests compare it with Evaluate under random
// operations, and any difference is a fault of Engine's:
//
//   - FastEqualsPlain: node, total, number of feasible nodes, histogram of reasons, and
//     how many nodes fewer pods might make fit.
//
// Preemption asks the rules what a node would be without some of its pods: Trial by the plain
// path's rules, Lone by the rows of the fast path, for pods to which no other node matters.
//
// Holds: nodes that a Hold keeps the pod's owner off are refused first, whatever the
// profile (avoid.go); room that one reserves counts as a nominated pod's, but not against
// pods of the same owner (cluster.Ahead), the first of which takes that node if it fits
// (State.AppendReserved).
//
// Departures from Kubernetes: a rule that is enabled for Filter but disabled for
// PreFilter (or for Score but not for PreScore) compiles the pod all the same
// instead of failing the attempt. Pods with device claims or a scheduling group
// are held back, as nothing here places them yet. The scores of a single feasible
// node are part of the record, though they decide nothing.
package placement
