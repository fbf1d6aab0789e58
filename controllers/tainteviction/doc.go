// Package tainteviction executes the decisions of engine/tainteviction. It displaces pods that do not tolerate a
// NoExecute taint of their node, or whose toleration has expired, with their own grace period. It overrules disruption
// budgets.
//
//	watch of nodes and pods ──▶ Step ──▶ Evict  ──▶ workers: displacer.Displacer; failures become events
//	              its own clock ──┘  └──▶ Cancel ──▶ event "Cancelling deletion of Pod ..."
//
// The controller debits the budgets that the eviction of a healthy pod overrules (debit.go).
//
// The package stores no state: after a restart the objects lead to the same decisions.
package tainteviction
