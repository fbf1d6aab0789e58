// Package reconciler is the simulator's runner of controllers (runner.Controller): one actor with its own lagging
// cache, work queues in virtual time, and a client whose requests wait (sim/kubeclient). The code that runs is that
// of package controllers.
//
// Each Reconcile is a coroutine (sim/coroutine). The actor can be killed at any request. Its controllers are then
// created anew from a list, as in a restarted process.
package reconciler
