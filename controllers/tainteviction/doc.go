// Package tainteviction carries out what engine/tainteviction decides: pods that do not tolerate a
// NoExecute taint of their node, or not any longer, are displaced past disruption budgets, with their own grace.
//
//	watch of nodes and pods ──▶ Step ──▶ Evict  ──▶ workers: actuate.Displacer; what fails is told the machine
//	              its own clock ──┘  └──▶ Cancel ──▶ event "Cancelling deletion of Pod ..."
//
// A pod that is healthy until then is booked in the budgets that are overruled (booking.go).
//
// Nothing is kept: after a restart the same follows from the objects.
package tainteviction
