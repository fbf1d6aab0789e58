// Package runtime defines the interfaces to container runtimes. Runtime runs whole pods;
// agent/pods and agent/runtime/simulated implement it. Service runs sandboxes, containers and
// images in CRI's terms. agent/runtime/cri implements it for all container runtimes, including the
// embedded one; agent/runtime/fake implements it for tests.
//
// Invariants of a Runtime:
//
//   - A container has at most one run at a time, and each run is reported to have exited once.
//   - Reports of a pod are in the order of the events.
//   - No process of a forgotten pod runs.
//   - A Runtime does not start the same attempt of a container twice.
package runtime
