// Package sim is the world that simulated actors share under virtual time. It has one clock, one
// heap of timed calls, an in-memory API server (sim/store) and the timeline. Watches lag, break and
// repeat; requests get lost.
//
//	world, heap, timeline       the clock, its events, the timeline
//	actors, reflector           actors and their watches
//	client, requests            a controller's cache and its requests
//	workqueue                   the queues of controllers
//	faults, killpoint           injected faults, by rule or at random; a kill at one request
//	observers, models           commits, notices and violations; converted pods
//
// The world depends on no actor. Actors are in subpackages, and package cluster assembles
// them. An actor observes only the objects that its own watches delivered. It loses its state when
// it is killed, and restarts from a list. It reports with Notify what commits do not show. Invariants
// and statistics observe these notices.
//
// A run depends only on its options and on the calls scheduled with At. It uses no wall clock, no
// concurrency and no map iteration order. Randomness is a hash of the seed and of names, so that
// removing one event changes only what depends on it. The controllers are those of package controllers,
// package executor executes the scheduler's effects, and the node agents are those of package agent.
// sim/reconciler and sim/agent run them in coroutines, of which one at a time can run.
package sim
