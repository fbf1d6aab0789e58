package cluster

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	enginedisplacement "github.com/berthproject/berth/engine/displacement"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/sim/agent"
	"github.com/berthproject/berth/sim/displacement"
	"github.com/berthproject/berth/sim/scheduler"
	"github.com/berthproject/berth/sim/store"
)

// Counts are statistics of a run.
type Counts struct {
	Created, Bound            int
	Succeeded, Failed         int
	Deleted                   int // deleted pods
	Rejections                int // failed scheduling attempts
	Victims                   int // preempted pods
	Preemptors                int // pods that preempted others
	Cascades                  int // pods preempted by the replacement of a victim
	CascadeDepth              int // longest chain of victims
	LastBound, LastPreemption time.Duration
	Displaced                 [enginedisplacement.Shutdown + 1]int // by cause
	BudgetDebits              int
	Refused                   int // evictions refused by a budget
	Unrecorded                int // displacements whose record was lost because no actor observed them
	Rejected                  int // pods rejected by their node
	Descheduled               int // pods evicted by the descheduler
	Returned                  int // of these, pods replaced on the node they left
	// Latencies are the times from creation to binding, in the order of binding.
	Latencies []time.Duration
}

// Displacements returns the number of displaced pods of all causes.
func (c *Counts) Displacements() (n int) {
	for _, of := range c.Displaced {
		n += of
	}
	return n
}

// Counts returns the statistics so far.
func (w *Cluster) Counts() Counts {
	c := w.counts
	if w.Descheduler != nil {
		c.Descheduled, c.Returned = w.Descheduler.Returned()
	}
	return c
}

// countChange counts a change of a pod.
func (w *Cluster) countChange(c store.Change) {
	if c.Kind != store.Pods {
		return
	}
	old, _ := c.Old.(*corev1.Pod)
	p, _ := c.New.(*corev1.Pod)
	switch {
	case c.Old == nil:
		w.counts.Created++
		w.created[c.New.GetUID()] = w.Now()
		return
	case c.New == nil:
		w.counts.Deleted++
		return
	}
	if old.Spec.NodeName == "" && p.Spec.NodeName != "" {
		w.counts.Bound++
		w.counts.LastBound = w.Elapsed()
		if made, ok := w.created[p.UID]; ok {
			w.counts.Latencies = append(w.counts.Latencies, w.Now().Sub(made))
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

// countPreemption counts a victim and its chain.
func (w *Cluster) countPreemption(by *model.Pod, victim *corev1.Pod) {
	w.counts.Victims++
	w.counts.Displaced[enginedisplacement.Preemption]++
	w.counts.LastPreemption = w.Elapsed()
	depth := 1
	if p := w.API().Pod(by.Key()); p != nil {
		if before, ok := w.Owners.ChainDepth(p.Name); ok {
			depth = before + 1
			w.counts.Cascades++
		}
	}
	w.counts.CascadeDepth = max(w.counts.CascadeDepth, depth)
	w.Owners.RecordVictim(victim, depth)
	if !w.preemptors[by.UID] {
		w.preemptors[by.UID] = true
		w.counts.Preemptors++
	}
}

// countNotice counts what an actor reports.
func (w *Cluster) countNotice(notice any) {
	switch n := notice.(type) {
	case displacement.Displaced:
		w.counts.Displaced[n.Cause]++
	case scheduler.Rejected:
		w.counts.Rejections++
	case scheduler.Preempted:
		w.countPreemption(n.By, n.Victim)
	case agent.Rejected:
		w.counts.Rejected++
	case agent.Evicted:
		w.counts.Displaced[enginedisplacement.Pressure]++
	case displacement.Refused:
		w.counts.Refused++
	}
}
