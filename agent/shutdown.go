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

// Shutdown is how long pods have when their node is shut down, by classes of priority;
// none: they are left to whoever ends the machine.
type Shutdown []shutdown.Class

// nodeShutdown is the shutdown of a node that is under way.
type nodeShutdown struct {
	node    *node
	machine *shutdown.Machine // nil: it has not begun
	done    chan struct{}
}

// Shutdown ends the pods of a node in the order of their priorities and returns when all have ended, or
// had their time, or ctx ends. From now on the node takes no pods and is not ready, until
// its agent starts again. Run must be running.
func (a *Agent) Shutdown(ctx context.Context, name string) error {
	n := a.nodes[name]
	if n == nil {
		return fmt.Errorf("shutdown: node %q is not one of this agent's", name)
	}
	h := &nodeShutdown{node: n, done: make(chan struct{})}
	if n.shuttingDown.Swap(true) {
		return fmt.Errorf("shutdown: node %q is being shut down already", name)
	}
	a.opts.Events.Event(nodeReference(n.manifest), corev1.EventTypeNormal, "NodeShutdown", "Node is shutting down, its pods are ended")
	a.Report(name)
	a.shutdowns.put(h)
	select {
	case <-h.done:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("shutdown: node %q: pods still run: %w", name, ctx.Err())
	}
}

// nodeReference is a node as events are about it: the kubelet gives its name for its uid.
func nodeReference(n *corev1.Node) *corev1.ObjectReference {
	return &corev1.ObjectReference{Kind: "Node", Name: n.Name, UID: types.UID(n.Name)}
}

// startShutdown begins the shutdown of a node.
func (a *Agent) startShutdown(h *nodeShutdown) {
	var pods []shutdown.Pod
	for _, p := range a.pods {
		if p.node == h.node && p.reserved && !p.lifecycle.Stopped() {
			pods = append(pods, shutdownPod(p.object))
		}
	}
	slices.SortFunc(pods, func(x, y shutdown.Pod) int { return cmp.Compare(x.UID, y.UID) })
	h.machine = shutdown.New(a.opts.Shutdown, pods)
	h.node.shutdown = h
	a.continueShutdown(h.node)
}

// shutdownMessage is the kubelet's.
const shutdownMessage = "Pod was terminated in response to imminent node shutdown."

// continueShutdown takes the shutdown of a node one step further.
func (a *Agent) continueShutdown(n *node, ended ...string) {
	h := n.shutdown
	if h == nil {
		return
	}
	stops, wake, done := h.machine.Step(time.Now(), ended...)
	if done {
		n.shutdown = nil
		defer close(h.done)
	} else {
		a.timers.add(wake, shutdownTimerPrefix+types.UID(n.manifest.Name))
	}
	for _, s := range stops {
		a.evict(Eviction{Pod: types.UID(s.Pod), Reason: "Terminated", Message: shutdownMessage, Grace: s.Grace, Condition: newDisruptionTarget(shutdownMessage)})
	}
}

// shutdownTimerPrefix begins the names of timers that are no pod's.
const shutdownTimerPrefix = types.UID("shutdown/")

// handleTimer takes in that the time of a pod, or of a shutdown, has come.
func (a *Agent) handleTimer(of types.UID) {
	if name, ok := strings.CutPrefix(string(of), string(shutdownTimerPrefix)); ok {
		a.continueShutdown(a.nodes[name])
		return
	}
	if p := a.pods[of]; p != nil {
		p.timerAt = time.Time{}
		a.stepPod(p)
	}
}

// shutdownPod is a pod as its node's shutdown sees it.
func shutdownPod(p *corev1.Pod) shutdown.Pod {
	return shutdown.Pod{UID: string(p.UID), Priority: podPriority(p), Grace: terminationGracePeriod(p)}
}

func podPriority(p *corev1.Pod) int32 {
	if p.Spec.Priority == nil {
		return 0
	}
	return *p.Spec.Priority
}
