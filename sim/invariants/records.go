package invariants

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/types"

	enginedisplacement "github.com/berthproject/berth/engine/displacement"
	"github.com/berthproject/berth/engine/scheduling"
	"github.com/berthproject/berth/internal/conversion"
	"github.com/berthproject/berth/internal/journal"
	"github.com/berthproject/berth/sim/kubeclient"
	"github.com/berthproject/berth/sim/store"
)

// podRecord is what is known about the displacement of a pod.
type podRecord struct {
	events    int    // with a record of the displacement
	displaced bool   // once
	observed  bool   // by the controller of displacement records
	missing   string // the key of the pod, if it was displaced and has no event
}

// record returns the record of a pod.
func (a *Checker) record(uid types.UID) *podRecord {
	if a.records[uid] == nil {
		a.records[uid] = &podRecord{}
	}
	return a.records[uid]
}

// observeDelivered records which displacements the controller of displacement records has observed.
func (a *Checker) observeDelivered(_ store.Kind, old, current store.Object) {
	for _, o := range []store.Object{old, current} {
		if p, ok := o.(*corev1.Pod); ok && conversion.ActiveDisruptionTarget(p) != nil {
			a.record(p.UID).observed = true
		}
	}
}

// checkDeletion checks DeletesObserved and DisplacedOnce before a client deletes a pod. Controllers that only displace pods
// must have set the condition.
func (a *Checker) checkDeletion(n kubeclient.DeletingPod) {
	if a.o.All && n.Cached != nil && n.Cached.UID != n.Pod.UID {
		a.failf("DeletesObserved", "%s deletes pod %s with UID %s, and has observed UID %s", n.Actor, store.KeyOf(n.Pod), n.Pod.UID, n.Cached.UID)
	}
	switch cause := n.Cause.(type) {
	case scheduling.Preempt:
		a.checkPreemption(cause, n.Pod)
		return
	case *enginedisplacement.Record:
		a.checkEviction(cause, n.Pod)
		return
	}
	if a.o.All && (n.Actor == "taints" || conversion.ActiveDisruptionTarget(n.Pod) != nil) {
		a.checkDisplacedOnce(n.Pod)
	}
}

// recordTimeout is how long a record may be missing, for example because the displacing actor
// was killed and another actor writes the record later.
const recordTimeout = 5 * time.Minute

// checkDisplacedOnce checks DisplacedOnce before a displacement is committed.
func (a *Checker) checkDisplacedOnce(p *corev1.Pod) {
	if conversion.ActiveDisruptionTarget(p) == nil {
		a.failf("DisplacedOnce", "pod %s is displaced, but has no DisruptionTarget condition", store.KeyOf(p))
	}
	r := a.record(p.UID)
	switch current := a.w.API().Pod(store.KeyOf(p)); {
	case !r.displaced:
	case current != nil && current.UID == p.UID && store.Finished(current):
		return // the pod had finished before a late displacement
	default:
		a.failf("DisplacedOnce", "pod %s is displaced twice", store.KeyOf(p))
	}
	if r.displaced = true; r.events > 0 {
		return
	}
	r.missing = store.KeyOf(p)
	a.w.After(recordTimeout, func() {
		if r.missing != "" {
			a.failf("DisplacedOnce", "pod %s was displaced %v ago, but has no record event", r.missing, recordTimeout)
		}
	})
}

// acceptIfNotObserved accepts a missing record of a pod that was deleted while the recording
// actor was down or had lost its watch.
func (a *Checker) acceptIfNotObserved(uid types.UID) {
	if r := a.records[uid]; r != nil && !(a.o.Recorder.IsSynced() && a.o.Recorder.Reflector().Watches(store.Pods)) {
		a.acceptMissingRecord(r)
	}
}

// acceptMissingRecords accepts the missing records of deleted pods when the recording actor is killed. When its watch
// breaks, it accepts those of pods whose displacement was not delivered yet.
func (a *Checker) acceptMissingRecords(watchLost bool) {
	for uid, r := range a.records {
		if p := a.w.API().Pod(r.missing); r.missing != "" && (p == nil || p.UID != uid) && !(watchLost && r.observed) {
			a.acceptMissingRecord(r)
		}
	}
}

// acceptMissingRecord counts a record that will never be created.
func (a *Checker) acceptMissingRecord(r *podRecord) {
	if r.missing != "" {
		r.missing = ""
		a.Unrecorded++
	}
}

// countRecord counts a new record event of a pod, which must be its first.
func (a *Checker) countRecord(c store.Change) {
	e, ok := c.New.(*eventsv1.Event)
	if !ok || c.Old != nil || e.Annotations[journal.Annotation] == "" {
		return
	}
	r := a.record(e.Regarding.UID)
	r.missing = ""
	if r.events++; r.events > 1 {
		a.failf("DisplacedOnce", "pod %s/%s has %d records", e.Regarding.Namespace, e.Regarding.Name, r.events)
	}
}
