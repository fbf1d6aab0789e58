// Package fake is a runtime.Service in memory, for tests: sandboxes, containers
// and images are records, nothing runs, and no clock is read but for the times
// that a runtime reports.
//
// A test ends containers with Exit, makes calls fail with Fail, holds calls back
// with Hold, and reads what was asked with Calls. Restarting the agent is done by
// giving the same Service to a new one; restarting the runtime by Break.
//
// What it keeps of a real runtime, since its users rely on that: ids are never
// used again; a container is stopped before it is removed, a sandbox takes its
// containers with it; StopContainer with grace blocks until the container
// has ended or the grace is over; a missing id is NotFound; an end is told once
// to each reader of Events that listens then.
package fake
