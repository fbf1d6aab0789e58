// Package assumption holds what the scheduler assumes about a node that evicted or rejected pods and has not
// reported its condition since.
//
// The scheduler treats such a node as if it had the taints of the condition that will follow (kubernetes#76325,
// #31778). It assumes no more resources than its rejection showed (kubernetes#106419). An assumption is derived from
// pods and nodes alone, so a restart does not change it.
package assumption
