package drainactor

import (
	"fmt"
	"net/http"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berthproject/berth/sim/cluster"
	"github.com/berthproject/berth/sim/displacement"
	"github.com/berthproject/berth/sim/store"
)

// drainRetryInterval is the retry interval of kubectl drain.
const drainRetryInterval = 5 * time.Second

// Kubectl simulates kubectl drain --ignore-daemonsets: it cordons a node and evicts its
// pods, retries when a budget refuses, and gives up after other errors.
func Kubectl(w *cluster.Cluster, node, requester string) {
	_ = cordon(w, node)
	remaining := 0
	for _, o := range w.API().List(store.Pods) {
		p, ok := o.(*corev1.Pod)
		if !ok || p.Spec.NodeName != node || isDaemonSetPod(p) {
			continue
		}
		remaining++
		evictUntilDeleted(w, displacement.EvictionRequest{Pod: store.KeyOf(p), UID: string(p.UID), Requester: requester}, func() {
			if remaining--; remaining == 0 {
				w.Log("drain", "drained", node, "node "+node+" is drained by "+requester)
			}
		})
	}
}

// evictUntilDeleted requests an eviction until the pod is deleted and then calls done. It gives up after errors other
// than the refusal of a budget and an injected fault.
func evictUntilDeleted(w *cluster.Cluster, e displacement.EvictionRequest, done func()) {
	evict := func() { evictUntilDeleted(w, e, done) }
	w.Displacement.Evict(e, func(r displacement.EvictionResponse) {
		p := w.API().Pod(e.Pod)
		switch {
		case p == nil || string(p.UID) != e.UID:
			done()
		case r.Code == http.StatusTooManyRequests:
			w.Log("drain", "refused", e.Pod, fmt.Sprintf("the eviction of %s is refused: %s", e.Pod, r))
			w.After(drainRetryInterval, evict)
		case r.Code == 0 || r.Code == http.StatusGatewayTimeout || r.Code == http.StatusInternalServerError && r.Message == displacement.InjectedFailure:
			w.After(drainRetryInterval, evict)
		case r.Code >= http.StatusBadRequest:
			w.Log("drain", "failed", e.Pod, fmt.Sprintf("the drain gives up on %s: %s", e.Pod, r))
		default: // granted
			w.After(time.Second, func() { awaitDeletion(w, e, done) })
		}
	})
}

// awaitDeletion waits until a pod is deleted and then calls done. It evicts the pod if it is not being deleted.
func awaitDeletion(w *cluster.Cluster, e displacement.EvictionRequest, done func()) {
	p := w.API().Pod(e.Pod)
	switch {
	case p == nil || string(p.UID) != e.UID:
		done()
	case p.DeletionTimestamp == nil:
		evictUntilDeleted(w, e, done) // it was not deleted after all
	default:
		w.After(time.Second, func() { awaitDeletion(w, e, done) })
	}
}

func isDaemonSetPod(p *corev1.Pod) bool {
	c := metav1.GetControllerOfNoCopy(p)
	return c != nil && c.Kind == "DaemonSet"
}
