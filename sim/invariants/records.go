package invariants

import (
	"fmt"
	"maps"
	"slices"
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

// recordAudit tracks displacements and their records.
type recordAudit struct {
	events    map[types.UID]int // events with a record, by pod
	displaced map[types.UID]bool
	missing   map[types.UID]string // displaced pods without an event, with their keys
	observed  map[types.UID]bool   // pods whose displacement the displacementrecords controller has observed
}

// observeDelivered records which displacements the displacementrecords controller has observed.
func (a *Checker) observeDelivered(_ store.Kind, old, current store.Object) {
	for _, o := range []store.Object{old, current} {
		if p, ok := o.(*corev1.Pod); ok && conversion.ActiveDisruptionTarget(p) != nil {
			a.records.observed[p.UID] = true
		}
	}
}

// checkDeletion checks DeletesObserved and DisplacedOnce before a client deletes a pod. Controllers that only displace pods
// must have set the condition.
func (a *Checker) checkDeletion(n kubeclient.DeletingPod) {
	if a.o.All && n.Cached != nil && n.Cached.UID != n.Pod.UID {
		a.w.Fail("DeletesObserved", fmt.Sprintf("%s deletes pod %s with UID %s, and has observed UID %s", n.Actor, store.KeyOf(n.Pod), n.Pod.UID, n.Cached.UID))
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
		a.w.Fail("DisplacedOnce", fmt.Sprintf("pod %s is displaced, but has no DisruptionTarget condition", store.KeyOf(p)))
	}
	r := &a.records
	if current := a.w.API().Pod(store.KeyOf(p)); r.displaced[p.UID] && current != nil && current.UID == p.UID && store.Finished(current) {
		return // the pod had finished before a late displacement
	}
	if r.displaced[p.UID] {
		a.w.Fail("DisplacedOnce", fmt.Sprintf("pod %s is displaced twice", store.KeyOf(p)))
	}
	r.displaced[p.UID] = true
	if r.events[p.UID] == 0 {
		r.missing[p.UID] = store.KeyOf(p)
		a.w.After(recordTimeout, func() {
			if key := r.missing[p.UID]; key != "" {
				a.w.Fail("DisplacedOnce", fmt.Sprintf("pod %s was displaced %v ago, but has no record event", key, recordTimeout))
			}
		})
	}
}

// acceptIfNotObserved accepts a missing record of a pod that was deleted while the recording
// actor was down or had lost its watch.
func (a *Checker) acceptIfNotObserved(uid types.UID) {
	if isWatching := a.recorder.IsSynced() && a.recorder.Reflector().Watches(store.Pods); !isWatching && a.records.missing[uid] != "" {
		a.acceptMissingRecord(uid)
	}
}

// acceptAfterLostWatch accepts missing records of pods whose last change was in flight when the watch
// broke.
func (a *Checker) acceptAfterLostWatch() {
	for _, uid := range slices.Sorted(maps.Keys(a.records.missing)) {
		key := a.records.missing[uid]
		if p := a.w.API().Pod(key); (p == nil || p.UID != uid) && !a.records.observed[uid] {
			a.acceptMissingRecord(uid)
		}
	}
}

// acceptMissingRecord counts a record that will never be created.
func (a *Checker) acceptMissingRecord(uid types.UID) {
	delete(a.records.missing, uid)
	a.Unrecorded++
}

// acceptForDeletedPods accepts missing records of deleted pods when the recording actor is killed.
func (a *Checker) acceptForDeletedPods() {
	for _, uid := range slices.Sorted(maps.Keys(a.records.missing)) {
		if p := a.w.API().Pod(a.records.missing[uid]); p == nil || p.UID != uid {
			a.acceptMissingRecord(uid)
		}
	}
}

// countRecord counts a new record event of a pod, which must be its first.
func (a *Checker) countRecord(c store.Change) {
	e, ok := c.New.(*eventsv1.Event)
	if !ok || c.Old != nil || e.Annotations[journal.Annotation] == "" {
		return
	}
	r := &a.records
	r.events[e.Regarding.UID]++
	delete(r.missing, e.Regarding.UID)
	if n := r.events[e.Regarding.UID]; n > 1 {
		a.w.Fail("DisplacedOnce", fmt.Sprintf("pod %s/%s has %d records", e.Regarding.Namespace, e.Regarding.Name, n))
	}
}
