// Package scheduler is the actor that runs the scheduler's machine (engine/scheduling): its watches
// become events, and its effects become requests with latency and faults.
package scheduler
