package agent

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/berthproject/berth/agent/runtime"
)

// Allocation is the resource state of a pod that a node stores.
type Allocation struct {
	// Allocated are the resources that the node has admitted.
	Allocated *runtime.Resources `json:"allocated"`
	// Actual are the resources that the runtime has applied; nil if they equal Allocated.
	Actual *runtime.Resources `json:"actual,omitempty"`
}

// AllocationStore keeps the allocations of a node's pods across restarts of the agent. A pod can be
// resized while the agent is down, and its status may be older than its allocation.
type AllocationStore interface {
	Load() (map[types.UID]Allocation, error)
	// Save replaces all stored allocations.
	Save(all map[types.UID]Allocation) error
}

// loadAllocations reads the stored allocations of the nodes.
func (a *Agent) loadAllocations() {
	if a.opts.Allocations == nil {
		return
	}
	for _, n := range a.nodes {
		var err error
		if n.restoredAllocations, err = a.opts.Allocations.Load(); err != nil {
			a.opts.Log.Error(err, "Failed to load allocated resources, using the pods' status", "node", n.manifest.Name)
		}
	}
}

// allocationRetry is the time between attempts to store allocations. Each attempt writes a file.
const allocationRetry = 10 * time.Second

// allocationTimerPrefix, followed by a node's name, is the key of the node's retry timer.
const allocationTimerPrefix types.UID = "allocations/"

// saveAllocations stores the allocations of a node if they have changed. It must be called before the
// runtime starts the admitted containers. A failed attempt is retried; only the first is logged.
func (a *Agent) saveAllocations(n *node) {
	now := a.env.now()
	if a.opts.Allocations == nil || !n.allocationsChanged || now.Before(n.allocationsRetryAt) {
		return
	}
	allocations := map[types.UID]Allocation{}
	for uid, p := range a.pods {
		if p.node == n && p.reserved {
			allocated := runtime.SpecResources(p.podWithAllocated())
			allocations[uid] = Allocation{Allocated: &allocated, Actual: p.resize.actual}
		}
	}
	err := a.opts.Allocations.Save(allocations)
	if err == nil {
		n.allocationsChanged, n.allocationsFailed = false, false
		return
	}
	if !n.allocationsFailed { // a full disk must not prevent pods from running
		a.opts.Log.Error(err, "Failed to save allocated resources; retrying", "node", n.manifest.Name)
	}
	n.allocationsFailed, n.allocationsRetryAt = true, now.Add(allocationRetry)
	a.timers.add(n.allocationsRetryAt, allocationTimerPrefix+types.UID(n.manifest.Name))
}
