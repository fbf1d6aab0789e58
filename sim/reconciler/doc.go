// Package reconciler runs controllers (runner.Controller) in the simulator. A process is one actor with its own
// lagging cache, work queues in virtual time, and a client whose requests wait (sim/kubeclient). The code that runs is
// that of package controllers.
//
// Each Reconcile is a coroutine (sim/coroutine). The actor can be killed at any request. It then creates its
// controllers anew from a list, as a restarted process does.
package reconciler
