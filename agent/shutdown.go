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

// halt is the shutdown of a node that is under way.
type halt struct {
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
	h := &halt{node: n, done: make(chan struct{})}
	if n.halting.Swap(true) {
		return fmt.Errorf("shutdown: node %q is being shut down already", name)
	}
	a.opts.Events.Event(reference(n.want), corev1.EventTypeNormal, "NodeShutdown", "Node is shutting down, its pods are ended")
	a.Report(name)
	a.halts.put(h)
	select {
	case <-h.done:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("shutdown: node %q: pods still run: %w", name, ctx.Err())
	}
}

// reference is a node as events are about it: the kubelet gives its name for its uid.
func reference(n *corev1.Node) *corev1.ObjectReference {
	return &corev1.ObjectReference{Kind: "Node", Name: n.Name, UID: types.UID(n.Name)}
}

// stop begins the shutdown of a node.
func (a *Agent) stop(h *halt) {
	var pods []shutdown.Pod
	for _, p := range a.pods {
		if p.node == h.node && p.counted && !p.life.Over() {
			pods = append(pods, toStop(p.object))
		}
	}
	slices.SortFunc(pods, func(x, y shutdown.Pod) int { return cmp.Compare(x.UID, y.UID) })
	h.machine = shutdown.New(a.opts.Shutdown, pods)
	h.node.halt = h
	a.stopMore(h.node)
}

// haltedMessage is the kubelet's.
const haltedMessage = "Pod was terminated in response to imminent node shutdown."

// stopMore takes the shutdown of a node one step further.
func (a *Agent) stopMore(n *node, ended ...string) {
	h := n.halt
	if h == nil {
		return
	}
	stops, wake, done := h.machine.Step(time.Now(), ended...)
	if done {
		n.halt = nil
		defer close(h.done)
	} else {
		a.timers.add(wake, haltTimer+types.UID(n.want.Name))
	}
	for _, s := range stops {
		a.evict(Eviction{Pod: types.UID(s.Pod), Reason: "Terminated", Message: haltedMessage, Grace: s.Grace, Condition: disrupted(haltedMessage)})
	}
}

// haltTimer begins the names of timers that are no pod's.
const haltTimer = types.UID("shutdown/")

// rang takes in that the time of a pod, or of a shutdown, has come.
func (a *Agent) rang(of types.UID) {
	if name, ok := strings.CutPrefix(string(of), string(haltTimer)); ok {
		a.stopMore(a.nodes[name])
		return
	}
	if p := a.pods[of]; p != nil {
		p.wakes = time.Time{}
		a.step(p)
	}
}

// toStop is a pod as its node's shutdown sees it.
func toStop(p *corev1.Pod) shutdown.Pod {
	return shutdown.Pod{UID: string(p.UID), Priority: priority(p), Grace: patience(p)}
}

func priority(p *corev1.Pod) int32 {
	if p.Spec.Priority == nil {
		return 0
	}
	return *p.Spec.Priority
}
