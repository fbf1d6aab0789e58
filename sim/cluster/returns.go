package cluster

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// returnCounter counts the evictions by the descheduler, and the replacements on the nodes that the pods left.
type returnCounter struct {
	evicted, returned int
	awaiting          map[types.UID][]evictedPod // by owner UID, in the order of eviction
	replacements      map[types.UID]bool         // UIDs of replacements
}

// evictedPod is an evicted pod without a replacement.
type evictedPod struct {
	node string
	at   time.Time
}

func newReturnCounter() returnCounter {
	return returnCounter{awaiting: map[types.UID][]evictedPod{}, replacements: map[types.UID]bool{}}
}

// recordEviction records an eviction by the descheduler.
func (r *returnCounter) recordEviction(p *corev1.Pod, now time.Time) {
	r.evicted++
	if c := metav1.GetControllerOfNoCopy(p); c != nil {
		r.awaiting[c.UID] = append(r.awaiting[c.UID], evictedPod{p.Spec.NodeName, now})
	}
}

// recordBinding records a bound pod as the replacement of the owner's first evicted pod. A pod that was created more
// than a second before that eviction is not a replacement.
func (r *returnCounter) recordBinding(p *corev1.Pod, createdAt time.Time) {
	c := metav1.GetControllerOfNoCopy(p)
	if c == nil || r.replacements[p.UID] {
		return
	}
	list := r.awaiting[c.UID]
	if len(list) == 0 || createdAt.Before(list[0].at.Add(-time.Second)) {
		return
	}
	r.replacements[p.UID] = true
	if list[0].node == p.Spec.NodeName {
		r.returned++
	}
	r.awaiting[c.UID] = list[1:]
}
