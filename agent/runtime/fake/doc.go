// Package fake is a runtime.Service in memory for tests. Sandboxes, containers and images are
// records; no process runs. The clock is read only for reported timestamps.
//
// Tests end containers with Exit, make calls fail with Fail, delay calls with Block, and read the
// recorded calls with Calls. To restart the agent, pass the same Service to a new one. To restart
// the runtime, call BreakEventStreams.
//
// The fake keeps the properties that its users rely on:
//
//   - IDs are never reused. Calls with an unknown ID fail with NotFound, except StopPodSandbox and
//     removals, which succeed.
//   - A container is stopped before it is removed, and a sandbox is removed with its
//     containers.
//   - StopContainer with a grace period blocks until the container has exited or the period is
//     over.
//   - Each exit is sent once to each current reader of Events.
package fake
