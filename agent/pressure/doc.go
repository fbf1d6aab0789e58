// Package pressure is the shell around engine/nodepressure on a real node: it sees
// shortages within milliseconds, kills first and tells afterwards.
//
//	kernel ── alarm (v1: threshold events; v2: memory.high + memory.events) ──┐
//	clock ─── pace: 10 ms near a threshold, up to 1 s far from it ────────────┤
//	                                                                          ▼
//	agent/cgroup, agent/stats ── Observation ──▶ engine/nodepressure.Machine.Step ──▶ effects
//	   Evict, hard:  SIGKILL to the pod's cgroup ─▶ the agent's loop ─▶ runtime, API
//	   Evict, soft:  the agent's loop, with its grace
//	   Collect:      dead containers, images, in the background; memory goes on being watched
//
// One thread waits in poll(2) for the alarm, the clock and for being woken. An
// alarm is a hint only: what is decided is decided by the machine on fresh
// figures. A whole step without an effect allocates nothing and costs tens of
// microseconds; the figures of single pods are read only when one must go, or when
// memory is near short and the kernel's counts lag behind what it has charged.
//
// The pace follows from how far the next threshold of memory and of processes
// is: so far away that not even 8 GiB/s (or 20,000 forks/s) reach it before
// the next look, 1 s at most. While usage is below the alarm's lowest level the
// alarm alone is enough. PSI is handed to the machine as evidence and shown as
// a metric; it never triggers.
//
// What pods hold on disk is measured in the background (10 s where pods have
// limits, else a minute), and afresh before anybody goes for want of disk:
// until that is done the figures of disks count for conditions only.
//
// Invariants, each held by a test:
//
//   - SIGKILL is sent before anybody else is told, and neither the network nor the
//     agent's loop is waited for before it;
//   - what the kill has missed because it was just starting is killed at the next look;
//   - collecting garbage never keeps memory from being watched.
//
// Departures from the kubelet: it polls every 10 s with figures up to 10 s old,
// and has no memory event on version 2 (kubernetes#106331).
package pressure
