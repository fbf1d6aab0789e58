// Package shutdown is the order in which a node that is being shut down ends its
// pods: class by class, by ascending priority, each class for as long as it is given.
//
//	class 0 ── all ended, or its time is over ──▶ class 1 ──▶ ... ──▶ done
//
// The agent tells it which pods there are and which have ended; it answers whom to
// stop within which grace. A pod belongs to the highest class that is not above its
// priority, and to the lowest if all are.
//
// Invariants, each held by a test:
//
//   - a pod is stopped once, and no earlier than all pods of lower classes have ended or
//     had their time;
//   - no pod has more time than it asks for, nor than its class has;
//   - the whole takes no longer than the sum of the classes' times.
package shutdown
