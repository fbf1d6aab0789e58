package sim

import (
	"fmt"
	"net/http"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berthproject/berth/sim/store"
)

// drainPause is what kubectl drain waits for a budget.
const drainPause = 5 * time.Second

// Drain does as kubectl drain --ignore-daemonsets does: it cordons a node, has its pods evicted,
// again and again where a budget refuses, and gives up where the API server says anything else.
func (w *World) Drain(node, by string) {
	_ = w.api.Change(store.Nodes, node, store.Precondition{}, func(o store.Object) error {
		if n, ok := o.(*corev1.Node); ok {
			n.Spec.Unschedulable = true
		}
		return nil
	})
	left := 0
	for _, o := range w.api.List(store.Pods) {
		p, ok := o.(*corev1.Pod)
		if !ok || p.Spec.NodeName != node || ofDaemonSet(p) {
			continue
		}
		left++
		w.insist(Eviction{Pod: keyOf(p), UID: string(p.UID), By: by}, func() {
			if left--; left == 0 {
				w.tell("drain", "drained", node, "node "+node+" is drained by "+by)
			}
		})
	}
}

// insist asks until a pod is gone; then done is called.
func (w *World) insist(e Eviction, done func()) {
	ask := func() { w.insist(e, done) }
	w.Evict(e, func(a Answer) {
		p := w.api.Pod(e.Pod)
		switch {
		case p == nil || string(p.UID) != e.UID:
			done()
		case a.Code == http.StatusTooManyRequests:
			w.tell("drain", "refused", e.Pod, fmt.Sprintf("%s is not let go: %s", e.Pod, a))
			w.after(drainPause, ask)
		case a.Code == 0 || a.Code == http.StatusGatewayTimeout || a.Code == http.StatusInternalServerError && a.Text == refusedByScenario:
			w.after(drainPause, ask)
		case a.Code >= http.StatusBadRequest:
			w.tell("drain", "failed", e.Pod, fmt.Sprintf("draining gives up on %s: %s", e.Pod, a))
		default: // it is going
			w.after(time.Second, func() { w.gone(e, done) })
		}
	})
}

// gone waits for a pod's end.
func (w *World) gone(e Eviction, done func()) {
	p := w.api.Pod(e.Pod)
	switch {
	case p == nil || string(p.UID) != e.UID:
		done()
	case p.DeletionTimestamp == nil:
		w.insist(e, done) // it was not deleted after all
	default:
		w.after(time.Second, func() { w.gone(e, done) })
	}
}

func ofDaemonSet(p *corev1.Pod) bool {
	c := metav1.GetControllerOfNoCopy(p)
	return c != nil && c.Kind == "DaemonSet"
}
