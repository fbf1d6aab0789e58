// Package pressure is the node's eviction manager: it runs engine/nodepressure on a real node. It
// detects shortages within milliseconds and kills before it reports.
//
//	kernel ── alarm (v1: threshold events; v2: memory.high + memory.events) ──┐
//	clock ─── interval: 10 ms near a threshold, up to 1 s far from it ────────┤
//	                                                                          ▼
//	agent/cgroup, agent/stats ── Observation ──▶ engine/nodepressure.Machine.Step ──▶ effects
//	   eviction, hard:   SIGKILL to the pod's cgroup ─▶ agent ─▶ runtime, API
//	   eviction, soft:   the agent stops the pod with its grace period
//	   node reclaim:     terminated containers and images, in the background
//
// One thread waits in poll(2) for the alarm, the timer and wake-ups. An alarm is only a hint; the
// machine decides on new statistics. A step without an effect allocates nothing and takes tens
// of microseconds. Statistics of single pods are read only if one must be evicted, or if memory
// is near the threshold and the kernel's counters lag behind.
//
// The polling interval depends on the distance to the next memory and PID thresholds, and is at
// most 1 s. Neither 8 GiB/s nor 20,000 forks/s can cross a threshold before the next check. With
// the fixed alarm levels of cgroup v1, memory usage below the lowest level does not shorten the
// interval, because the alarm fires first. PSI is evidence for the machine and a metric; it never
// triggers an eviction.
//
// The pods' disk usage is measured in the background: every 10 s if pods have limits, otherwise
// every minute. It is measured again before an eviction for a disk signal; until then disk
// statistics only affect conditions.
//
// Invariants, each covered by a test:
//
//   - SIGKILL is sent before the eviction is reported, and does not wait for the network or the
//     agent.
//   - A process that started during the kill is killed in the next step.
//   - Garbage collection never blocks the memory check.
//
// Differences from the kubelet: it polls every 10 s with statistics up to 10 s old, and has no
// memory notification on cgroup v2 (kubernetes#106331).
package pressure
