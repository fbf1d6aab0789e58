package descheduler

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/sim/store"
)

// returnCounter counts the descheduler's evictions and the replacements that returned to the
// same node.
type returnCounter struct {
	evicted, returned int
	awaiting          map[string][]evictedPod // by owner UID, in the order of eviction
	replacements      map[string]bool         // UIDs of replacements
	created           map[types.UID]time.Time // creation times of existing pods
}

// evictedPod is an evicted pod without a replacement.
type evictedPod struct {
	node string
	at   time.Time
}

func newReturnCounter() *returnCounter {
	return &returnCounter{awaiting: map[string][]evictedPod{}, replacements: map[string]bool{}, created: map[types.UID]time.Time{}}
}

// observe observes commits of pods.
func (r *returnCounter) observe(c store.Change, now time.Time) {
	if c.Kind != store.Pods {
		return
	}
	switch old, _ := c.Old.(*corev1.Pod); {
	case c.Old == nil:
		r.created[c.New.GetUID()] = now
	case c.New == nil:
		delete(r.created, c.Old.GetUID())
	default:
		if p, ok := c.New.(*corev1.Pod); ok && old.Spec.NodeName == "" && p.Spec.NodeName != "" {
			r.recordBinding(p, r.created[p.UID])
		}
	}
}

// recordEviction records a granted eviction.
func (r *returnCounter) recordEviction(p *model.Pod, now time.Time) {
	r.evicted++
	if p.Owner.UID != "" && !p.Finished() {
		r.awaiting[p.Owner.UID] = append(r.awaiting[p.Owner.UID], evictedPod{p.NodeName, now})
	}
}

// recordBinding records a bound pod as the replacement of the owner's first evicted pod, unless the bound pod was
// created more than a second before that eviction.
func (r *returnCounter) recordBinding(p *corev1.Pod, createdAt time.Time) {
	c := metav1.GetControllerOfNoCopy(p)
	if c == nil || r.replacements[string(p.UID)] {
		return
	}
	list := r.awaiting[string(c.UID)]
	if len(list) == 0 || createdAt.Before(list[0].at.Add(-time.Second)) {
		return
	}
	r.replacements[string(p.UID)] = true
	if list[0].node == p.Spec.NodeName {
		r.returned++
	}
	r.awaiting[string(c.UID)] = list[1:]
}

// Returned returns the number of evicted pods, and how many were replaced on the node they left.
func (d *Descheduler) Returned() (evicted, returned int) {
	return d.returns.evicted, d.returns.returned
}
