package cluster

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/berthproject/berth/controllers/descheduler"
	enginedisplacement "github.com/berthproject/berth/engine/displacement"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/scheduling"
	"github.com/berthproject/berth/internal/conversion"
	"github.com/berthproject/berth/sim"
	"github.com/berthproject/berth/sim/agent"
	"github.com/berthproject/berth/sim/displacement"
	"github.com/berthproject/berth/sim/fakeowners"
	"github.com/berthproject/berth/sim/kubeclient"
	"github.com/berthproject/berth/sim/scheduler"
	"github.com/berthproject/berth/sim/store"
)

// counter counts commits and notices of the world.
type counter struct {
	w          *sim.World
	owners     *fakeowners.Replacer
	counts     Counts
	created    map[types.UID]time.Time // creation times of pods
	preemptors map[string]bool         // UIDs of pods that preempted others
	returns    returnCounter
}

// newCounter returns a counter that observes the world from now on.
func newCounter(w *sim.World, owners *fakeowners.Replacer) *counter {
	k := &counter{w: w, owners: owners, created: map[types.UID]time.Time{}, preemptors: map[string]bool{}, returns: newReturnCounter()}
	w.OnCommit(k.commit)
	w.OnNotice(k.notice)
	return k
}

// commit counts a change of a pod.
func (k *counter) commit(c store.Change) {
	if c.Kind != store.Pods {
		return
	}
	old, _ := c.Old.(*corev1.Pod)
	p, _ := c.New.(*corev1.Pod)
	switch {
	case c.Old == nil:
		k.counts.Created++
		k.created[c.New.GetUID()] = k.w.Now()
		return
	case c.New == nil:
		k.counts.Deleted++
		return
	}
	if old.Spec.NodeName == "" && p.Spec.NodeName != "" {
		k.counts.Bound++
		k.counts.LastBound = k.w.Elapsed()
		if createdAt, ok := k.created[p.UID]; ok {
			k.counts.Latencies = append(k.counts.Latencies, k.w.Now().Sub(createdAt))
			k.returns.recordBinding(p, createdAt)
		}
	}
	if old.Status.Phase != p.Status.Phase {
		switch p.Status.Phase {
		case corev1.PodSucceeded:
			k.counts.Succeeded++
		case corev1.PodFailed:
			k.counts.Failed++
		}
	}
}

// countPreemption counts a victim and its chain.
func (k *counter) countPreemption(preemptor *model.Pod, victim *corev1.Pod) {
	k.counts.Victims++
	k.counts.LastPreemption = k.w.Elapsed()
	depth := 1
	if p := k.w.API().Pod(preemptor.Key()); p != nil {
		if before, ok := k.owners.ChainDepth(p.Name); ok {
			depth = before + 1
			k.counts.Cascades++
		}
	}
	k.counts.CascadeDepth = max(k.counts.CascadeDepth, depth)
	k.owners.RecordVictim(victim, depth)
	if !k.preemptors[preemptor.UID] {
		k.preemptors[preemptor.UID] = true
		k.counts.Preemptors++
	}
}

// notice counts what an actor reports.
func (k *counter) notice(notice any) {
	switch n := notice.(type) {
	case kubeclient.DeletingPod:
		if c := conversion.ActiveDisruptionTarget(n.Pod); c != nil && (n.Actor == "podgc" || !store.Finished(n.Pod)) {
			k.counts.Displaced[enginedisplacement.CauseFromStatus(c.Reason, "", "")]++
		}
		switch cause := n.Cause.(type) {
		case scheduling.Preempt:
			k.countPreemption(cause.Pod, n.Pod)
		case *enginedisplacement.Record:
			if cause.Requester == descheduler.Component {
				k.returns.recordEviction(n.Pod, k.w.Now())
			}
		}
	case scheduler.Stepped:
		for _, e := range n.Effects {
			if r, ok := e.(scheduling.ReportUnschedulable); ok && !r.Retry {
				k.counts.Rejections++
			}
		}
	case agent.Evicted:
		k.counts.Displaced[enginedisplacement.Pressure]++
	case displacement.Refused:
		k.counts.Refused++
	}
}
