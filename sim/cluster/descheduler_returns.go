package cluster

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berthproject/berth/engine/model"
)

// returnCounter counts the descheduler's evictions and the replacements that returned to the
// same node.
type returnCounter struct {
	evicted, returned int
	awaiting          map[string][]evictedPod // by owner UID, in the order of eviction
	replacements      map[string]bool         // UIDs of replacements
}

// evictedPod is an evicted pod without a replacement.
type evictedPod struct {
	node string
	at   time.Time
}

func newReturnCounter() *returnCounter {
	return &returnCounter{awaiting: map[string][]evictedPod{}, replacements: map[string]bool{}}
}

// recordEviction records a granted eviction.
func (r *returnCounter) recordEviction(p *model.Pod, now time.Time) {
	r.evicted++
	if p.Owner.UID != "" && !p.Finished() {
		r.awaiting[p.Owner.UID] = append(r.awaiting[p.Owner.UID], evictedPod{p.NodeName, now})
	}
}

// recordBinding records a bound pod as the replacement of the owner's first evicted pod.
func (r *returnCounter) recordBinding(p *corev1.Pod, made time.Time) {
	c := metav1.GetControllerOfNoCopy(p)
	if c == nil || r.replacements[string(p.UID)] {
		return
	}
	list := r.awaiting[string(c.UID)]
	if len(list) == 0 || made.Before(list[0].at.Add(-time.Second)) {
		return
	}
	r.replacements[string(p.UID)] = true
	if list[0].node == p.Spec.NodeName {
		r.returned++
	}
	r.awaiting[string(c.UID)] = list[1:]
}
