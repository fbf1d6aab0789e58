package cluster

import (
	"time"

	enginedisplacement "github.com/berthproject/berth/engine/displacement"
)

// Counts are statistics of a run.
type Counts struct {
	Created, Bound            int                                  // pods
	Succeeded, Failed         int                                  // pods
	Deleted                   int                                  // pods
	Rejections                int                                  // failed scheduling attempts
	Victims                   int                                  // preempted pods
	Preemptors                int                                  // pods that preempted others
	Cascades                  int                                  // pods preempted by the replacement of a victim
	CascadeDepth              int                                  // longest chain of victims
	LastBound, LastPreemption time.Duration                        // since the start
	Displaced                 [enginedisplacement.Shutdown + 1]int // by cause
	BudgetDebits              int
	Refused                   int // evictions refused by a budget
	Unrecorded                int // displacements whose record was lost because no actor observed them
	Descheduled               int // pods evicted by the descheduler
	Returned                  int // of these, pods replaced on the node they left
	// Latencies are the times from creation to binding, in the order of binding.
	Latencies []time.Duration
}

// Displacements returns the number of displaced pods of all causes.
func (c *Counts) Displacements() (n int) {
	for _, count := range c.Displaced {
		n += count
	}
	return n
}

// Counts returns the statistics so far.
func (c *Cluster) Counts() Counts {
	n := c.counter.counts
	n.BudgetDebits, n.Unrecorded = c.Invariants.BudgetDebits, c.Invariants.Unrecorded
	n.Descheduled, n.Returned = c.counter.returns.evicted, c.counter.returns.returned
	return n
}
