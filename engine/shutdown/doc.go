// Package shutdown orders the termination of a node's pods during node shutdown: class by class, by ascending
// priority, each class within its own grace period.
//
//	class 0 ── all terminated, or time is up ──▶ class 1 ──▶ ... ──▶ done
//
// The node agent reports which pods have terminated; the machine returns which pods to stop with which grace
// period. A pod belongs to the highest class that is not above its priority, or to the lowest class.
//
// Invariants, each with a test:
//
//   - a pod is stopped once, and only after the pods of lower classes have terminated or their time is up;
//   - no pod gets more time than it requests or than its class has;
//   - the shutdown takes no longer than the sum of the classes' times.
package shutdown
