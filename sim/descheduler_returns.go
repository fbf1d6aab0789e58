package sim

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berthproject/berth/engine/model"
)

// returns counts what the descheduler evicted, and whose replacement came back to the node that it had left.
type returns struct {
	evicted, returned int
	open              map[string][]departure // by the owner's uid, in the order in which they left
	taken             map[string]bool        // uids of replacements
}

// departure is a pod that was evicted and not replaced yet.
type departure struct {
	node string
	at   time.Time
}

func newReturns() *returns { return &returns{open: map[string][]departure{}, taken: map[string]bool{}} }

// left takes note of an eviction that was granted.
func (r *returns) left(p *model.Pod, now time.Time) {
	r.evicted++
	if p.Owner.UID != "" && !p.Finished() {
		r.open[p.Owner.UID] = append(r.open[p.Owner.UID], departure{p.NodeName, now})
	}
}

// bound takes note of a pod that has got a node: it stands for the pod of its owner that left first.
func (r *returns) bound(p *corev1.Pod, made time.Time) {
	c := metav1.GetControllerOfNoCopy(p)
	if c == nil || r.taken[string(p.UID)] {
		return
	}
	list := r.open[string(c.UID)]
	if len(list) == 0 || made.Before(list[0].at.Add(-time.Second)) {
		return
	}
	r.taken[string(p.UID)] = true
	if list[0].node == p.Spec.NodeName {
		r.returned++
	}
	r.open[string(c.UID)] = list[1:]
}
