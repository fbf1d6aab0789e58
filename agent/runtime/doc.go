// Package runtime says what the agent needs of something that runs containers:
// Runtime of what runs whole pods, which agent/pods and the simulated one are, and
// Service of what runs sandboxes, containers and images, in CRI's terms.
//
// Invariants that a Runtime keeps:
//
//   - of a container one run is there at a time, and each run is reported to have ended once;
//   - what is reported of a pod comes in the order in which it happened;
//   - nothing runs of a pod that was forgotten;
//   - an attempt that is there already is not started again.
package runtime
