package agent

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/berthproject/berth/engine/shutdown"
)

// Shutdown has the grace periods of node shutdown by priority class. If it is empty, the agent
// does not end pods at shutdown.
type Shutdown []shutdown.Class

type nodeShutdown struct {
	node    *node
	machine *shutdown.Machine // nil until the loop starts it
	done    chan struct{}
}

// Shutdown ends the pods of a node by priority. It returns when all have terminated, their
// grace periods are over, or ctx is done. The node rejects pods and is not ready until the
// agent restarts. Run must be running.
func (a *Agent) Shutdown(ctx context.Context, name string) error {
	n := a.nodes[name]
	if n == nil {
		return fmt.Errorf("shutdown: node %q is not served by this agent", name)
	}
	s := &nodeShutdown{node: n, done: make(chan struct{})}
	if n.shuttingDown.Swap(true) {
		return fmt.Errorf("shutdown: node %q is already shutting down", name)
	}
	a.opts.NodeEvents.Event(nodeReference(n.manifest), corev1.EventTypeNormal, "NodeShutdown", "Node is shutting down, terminating its pods")
	a.Report(name)
	a.inbox.post(func() { a.startShutdown(s) })
	select {
	case <-s.done:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("shutdown: node %q: pods are still running: %w", name, ctx.Err())
	}
}

// nodeReference returns the object reference of a node for events. Like the kubelet's, its UID
// is the node's name.
func nodeReference(n *corev1.Node) *corev1.ObjectReference {
	return &corev1.ObjectReference{Kind: "Node", Name: n.Name, UID: types.UID(n.Name)}
}

func (a *Agent) startShutdown(s *nodeShutdown) {
	var pods []shutdown.Pod
	for _, p := range a.pods {
		if p.node == s.node && p.reserved && !p.lifecycle.Stopped() {
			pods = append(pods, shutdownPod(p.object))
		}
	}
	slices.SortFunc(pods, func(x, y shutdown.Pod) int { return cmp.Compare(x.UID, y.UID) })
	s.machine = shutdown.New(a.opts.Shutdown, pods)
	s.node.shutdown = s
	a.continueShutdown(s.node)
}

// shutdownMessage is the kubelet's message for a pod that it terminates at shutdown.
const shutdownMessage = "Pod was terminated in response to imminent node shutdown."

func (a *Agent) continueShutdown(n *node, terminated ...string) {
	s := n.shutdown
	if s == nil {
		return
	}
	stops, wake, done := s.machine.Step(a.env.now(), terminated...)
	if done {
		n.shutdown = nil
		defer close(s.done)
	} else {
		a.timers.add(wake, shutdownTimerPrefix+types.UID(n.manifest.Name))
	}
	for _, stop := range stops {
		a.evict(Eviction{Pod: types.UID(stop.Pod), Reason: "Terminated", Message: shutdownMessage, Grace: stop.Grace, Condition: newDisruptionTarget(shutdownMessage)})
	}
}

// shutdownTimerPrefix marks the keys of shutdown timers.
const shutdownTimerPrefix = types.UID("shutdown/")

// handleTimer handles an expired timer of a pod, of a node, or of the start of a static pod.
func (a *Agent) handleTimer(key types.UID) {
	if name, ok := strings.CutPrefix(string(key), string(shutdownTimerPrefix)); ok {
		a.continueShutdown(a.nodes[name])
		return
	}
	if name, ok := strings.CutPrefix(string(key), string(allocationTimerPrefix)); ok {
		a.saveAllocations(a.nodes[name])
		return
	}
	if name, ok := strings.CutPrefix(string(key), string(staticTimerPrefix)); ok {
		a.startStaticPod(name)
		a.reconcileMirror(name)
		return
	}
	if p := a.pods[key]; p != nil {
		p.timerAt = time.Time{}
		a.stepPod(p)
	}
}

// shutdownPod converts a pod for the shutdown machine.
func shutdownPod(p *corev1.Pod) shutdown.Pod {
	return shutdown.Pod{UID: string(p.UID), Priority: podPriority(p), Grace: terminationGracePeriod(p)}
}

func podPriority(p *corev1.Pod) int32 {
	if p.Spec.Priority == nil {
		return 0
	}
	return *p.Spec.Priority
}
