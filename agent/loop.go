package agent

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"
)

// The loop is the only code that accesses pods. In production Run calls it in one goroutine. Another runner calls Start,
// Restore and Turn instead, and passes changes from the API server to ObservePod and ObserveNode.

// maxRounds limits how often Turn calls functions that were posted during the same Turn. Reports therefore cannot delay
// status writes indefinitely.
const maxRounds = 16

// Turn calls the posted functions, handles due timers and starts status writes. The caller must call it again after the
// next post, and at the returned time at the latest. A zero time means that no timer is set.
func (a *Agent) Turn() (next time.Time) {
	for range maxRounds {
		progress := a.inbox.process()
		for _, key := range a.timers.due(a.env.now()) {
			a.handleTimer(key)
			progress = true
		}
		if !progress {
			break
		}
	}
	a.startStatusWrites()
	next, _ = a.timers.next()
	return next
}

// runLoop calls Turn until ctx is done.
func (a *Agent) runLoop(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-a.awake:
		case <-timer.C:
		}
		if next := a.Turn(); next.IsZero() {
			timer.Stop()
		} else {
			timer.Reset(next.Sub(a.env.now()))
		}
	}
}

// wakeLoop wakes runLoop. It does not block.
func (a *Agent) wakeLoop() {
	select {
	case a.awake <- struct{}{}:
	default:
	}
}

// Restore adds the pods that are bound to the nodes when the agent starts. It must be called in the loop, before
// changes that are observed later.
func (a *Agent) Restore(pods []*corev1.Pod, nodes []*corev1.Node) {
	a.restored = true
	a.restorePods(pods, nodes)
}

// ObservePod passes a new, changed or deleted pod to the loop. Any goroutine may call it. The loop discards changes that
// it processes before Restore, because Restore gets the objects that include them.
func (a *Agent) ObservePod(p *corev1.Pod, deleted bool) {
	if a.nodes[p.Spec.NodeName] == nil {
		return
	}
	a.inbox.post(func() {
		if a.restored {
			a.handlePodEvent(p, deleted)
		}
	})
}

// ObserveNode passes a new or changed node to the loop. Any goroutine may call it. The loop discards changes before
// Restore, as in ObservePod.
func (a *Agent) ObserveNode(n *corev1.Node) {
	if a.nodes[n.Name] == nil {
		return
	}
	a.inbox.post(func() {
		if a.restored {
			a.handleNode(n)
		}
	})
}

// objects returns the objects of a store.
func objects[T any](s cache.Store) []T {
	var out []T
	for _, item := range s.List() {
		if o, ok := item.(T); ok {
			out = append(out, o)
		}
	}
	return out
}
