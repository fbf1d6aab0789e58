package sim

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	enginedisplacement "github.com/berthproject/berth/engine/displacement"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/sim/store"
)

// Counts are what came of a run.
type Counts struct {
	Created, Bound            int
	Succeeded, Failed         int
	Deleted                   int // pods that are gone
	Rejections                int // attempts that found no node
	Victims                   int // pods preempted
	Preemptors                int // pods that preempted another component
	Cascades                  int // pods preempted by one that replaces a victim
	CascadeDepth              int // the longest chain of victims
	LastBound, LastPreemption time.Duration
	Displaced                 [enginedisplacement.Shutdown + 1]int // by cause
	BudgetDebits              int                                  // by budgets
	Refused                   int                                  // evictions that a budget did not allow
	Unrecorded                int                                  // displacements whose record was lost while nothing looked
	Rejected                  int                                  // pods that their node did not take
	Descheduled               int                                  // pods that the descheduler evicted
	Returned                  int                                  // those of them that were replaced on the node they had left
	// Latencies are from creation to binding, in the order of binding.
	Latencies []time.Duration
}

// Displacements returns how many pods were displaced, whatever the cause.
func (c *Counts) Displacements() (n int) {
	for _, of := range c.Displaced {
		n += of
	}
	return n
}

// Counts returns what came of the run so far.
func (w *World) Counts() Counts {
	c := w.counts
	c.Descheduled, c.Returned = w.returns.evicted, w.returns.returned
	return c
}

// countChange records the result of a pod.
func (w *World) countChange(c store.Change) {
	if c.Kind != store.Pods {
		return
	}
	old, _ := c.Old.(*corev1.Pod)
	p, _ := c.New.(*corev1.Pod)
	switch {
	case c.Old == nil:
		w.counts.Created++
		return
	case c.New == nil:
		w.counts.Deleted++
		return
	}
	if old.Spec.NodeName == "" && p.Spec.NodeName != "" {
		w.counts.Bound++
		w.counts.LastBound = w.Elapsed()
		made, ok := w.audit.created[p.UID]
		if w.returns.recordBinding(p, made); ok {
			w.counts.Latencies = append(w.counts.Latencies, w.now.Sub(made))
		}
	}
	if old.Status.Phase != p.Status.Phase {
		switch p.Status.Phase {
		case corev1.PodSucceeded:
			w.counts.Succeeded++
		case corev1.PodFailed:
			w.counts.Failed++
		}
	}
}

// countPreemption records a victim and of the chain that it is the end of.
func (w *World) countPreemption(by *model.Pod, victim *corev1.Pod) {
	w.counts.Victims++
	w.counts.Displaced[enginedisplacement.Preemption]++
	w.counts.LastPreemption = w.Elapsed()
	depth := 1
	if p := w.api.Pod(by.Key()); p != nil {
		if before, ok := w.replacer.replacementDepth[p.Name]; ok {
			depth = before + 1
			w.counts.Cascades++
		}
	}
	w.counts.CascadeDepth = max(w.counts.CascadeDepth, depth)
	w.replacer.recordVictim(victim, depth)
	if !w.audit.preemptors[by.UID] {
		w.audit.preemptors[by.UID] = true
		w.counts.Preemptors++
	}
}
