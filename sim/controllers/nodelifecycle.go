package controllers

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/nodelifecycle"
	"github.com/berthproject/berth/internal/conversion"
	"github.com/berthproject/berth/sim"
	"github.com/berthproject/berth/sim/agent"
	"github.com/berthproject/berth/sim/store"
)

// nodeLifecycle is the node lifecycle controller: it detects unreachable nodes and taints nodes by
// their conditions. Leases are not objects in the simulation; heartbeats provide the renew times.
type nodeLifecycle struct {
	*sim.Client
	w             *sim.World
	agents        *agent.Agents
	o             nodelifecycle.Options
	machine       *nodelifecycle.Machine
	steps         *sim.Stepper[nodelifecycle.Event]
	pendingWrites int
}

// StartNodeLifecycle starts the node lifecycle controller.
func StartNodeLifecycle(w *sim.World, agents *agent.Agents, o nodelifecycle.Options) {
	n := &nodeLifecycle{w: w, agents: agents, o: o}
	n.Client = w.NewClient("nodelifecycle", n, store.Nodes, store.Pods)
	n.steps = sim.NewStepper(n.Client, n.step)
	w.OnNotice(func(notice any) {
		if _, ok := notice.(agent.Silent); ok {
			n.steps.Schedule(0)
		}
	})
	n.Start()
}

// OnStop implements sim.Controller.
func (n *nodeLifecycle) OnStop() {
	n.steps.Reset()
	n.pendingWrites = 0
}

// OnSynced implements sim.Controller.
func (n *nodeLifecycle) OnSynced() {
	n.machine = nodelifecycle.New(n.o, n.w.Now())
	for _, name := range n.Keys(store.Nodes) {
		n.steps.Enqueue(conversion.NodeLifecycleNode(n.Node(name)))
	}
	for _, key := range n.Keys(store.Pods) {
		n.markPodNotReady(n.Pod(key))
	}
}

// OnChange implements sim.Controller.
func (n *nodeLifecycle) OnChange(k store.Kind, old, current store.Object) {
	switch current := current.(type) {
	case *corev1.Pod:
		if previous, ok := old.(*corev1.Pod); !ok || previous.Spec.NodeName == "" {
			n.markPodNotReady(current)
		}
	case *corev1.Node:
		n.steps.Enqueue(conversion.NodeLifecycleNode(current))
		if previous, ok := old.(*corev1.Node); ok && isReady(previous) && !isReady(current) {
			for _, key := range n.Keys(store.Pods) {
				n.markPodNotReady(n.Pod(key))
			}
		}
	case nil:
		if k == store.Nodes {
			n.steps.Enqueue(nodelifecycle.NodeDeleted{Node: old.GetName()})
		}
	}
}

// isReady reports whether a node has the condition Ready.
func isReady(n *corev1.Node) bool {
	return store.NodeConditionStatus(n, corev1.NodeReady) == corev1.ConditionTrue
}

func (n *nodeLifecycle) step(now time.Time, events []nodelifecycle.Event) time.Time {
	allReady := true
	for _, name := range n.Keys(store.Nodes) {
		events = append(events, nodelifecycle.LeaseRenewed{Node: name, Time: n.agents.LeaseRenewed(name)})
		allReady = allReady && isReady(n.Node(name)) && !n.agents.IsSilent(name)
	}
	effects, wake := n.machine.Step(now, events)
	for _, e := range effects {
		n.pendingWrites++
		switch e := e.(type) {
		case nodelifecycle.MarkUnknown:
			n.write(e.Node, nodelifecycle.Outcome{Node: e.Node, UID: e.UID}, func(o *corev1.Node) bool { return n.markUnknown(o, e) })
		case nodelifecycle.UpdateTaints:
			n.write(e.Node, nodelifecycle.Outcome{Node: e.Node, UID: e.UID, IsTaintUpdate: true}, func(o *corev1.Node) bool { return n.updateTaints(o, &e) })
		}
	}
	if allReady && n.pendingWrites == 0 {
		return time.Time{} // a node change or a silent agent schedules the next step
	}
	return wake
}

// write changes a node with f, which reports whether it changed anything. It fails if the node changed in the
// meantime.
func (n *nodeLifecycle) write(name string, out nodelifecycle.Outcome, f func(*corev1.Node) bool) {
	pre := store.Precondition{UID: out.UID}
	if o := n.Node(name); o != nil {
		pre.ResourceVersion = o.ResourceVersion
	}
	n.Request(sim.RequestNode, name, func() error {
		return n.w.API().Update(store.Nodes, name, pre, func(o store.Object) error {
			if node, ok := o.(*corev1.Node); !ok || !f(node) {
				return store.ErrUnchanged
			}
			return nil
		})
	}, func(err error) {
		n.pendingWrites--
		out.Failed = err != nil
		n.steps.Enqueue(out)
	})
}

func (n *nodeLifecycle) markUnknown(o *corev1.Node, e nodelifecycle.MarkUnknown) bool {
	conditions := slices.Clone(o.Status.Conditions)
	for _, c := range e.Conditions {
		next := corev1.NodeCondition{Type: corev1.NodeConditionType(c.Type), Status: corev1.ConditionStatus(c.Status.String()), Reason: c.Reason,
			Message: c.Message, LastHeartbeatTime: metav1.NewTime(c.Heartbeat), LastTransitionTime: metav1.NewTime(c.Transition)}
		conditions = store.WithNodeCondition(conditions, next)
	}
	o.Status.Conditions = conditions
	n.w.Log("nodes", "unknown", o.Name, fmt.Sprintf("node %s has sent no heartbeat since %v: its conditions are set to Unknown", o.Name, e.SilentSince.Sub(n.w.Options().Start).Round(time.Second)))
	return true
}

func (n *nodeLifecycle) updateTaints(o *corev1.Node, e *nodelifecycle.UpdateTaints) bool {
	taints, changed := e.Apply(conversion.TimedTaints(o))
	if !changed {
		return false
	}
	o.Spec.Taints = nil
	for i := range taints {
		t := &taints[i]
		next := corev1.Taint{Key: t.Key, Value: t.Value, Effect: corev1.TaintEffect(t.Effect.String())}
		if !t.Added.IsZero() {
			at := metav1.NewTime(t.Added)
			next.TimeAdded = &at
		}
		o.Spec.Taints = append(o.Spec.Taints, next)
	}
	for i := range e.Add {
		n.w.Log("nodes", "taint", o.Name, "node "+o.Name+" is tainted with "+formatTaint(&e.Add[i].Taint))
	}
	for i := range e.Remove {
		n.w.Log("nodes", "untaint", o.Name, "node "+o.Name+" is no longer tainted with "+formatTaint(&e.Remove[i]))
	}
	return true
}

func formatTaint(t *model.Taint) string { return t.Key + ":" + t.Effect.String() }

// markPodNotReady sets a pod on a node that is not Ready to not Ready.
func (n *nodeLifecycle) markPodNotReady(p *corev1.Pod) {
	node := n.Node(p.Spec.NodeName)
	if node == nil || isReady(node) || !store.PodReady(p) {
		return
	}
	n.Request(sim.RequestPodNotReady, store.KeyOf(p), func() error {
		return n.w.API().UpdatePod(store.KeyOf(p), store.Precondition{UID: string(p.UID)}, func(o *corev1.Pod) error {
			if !store.PodReady(o) {
				return store.ErrUnchanged
			}
			o.Status.Conditions = store.WithCondition(o.Status.Conditions, corev1.PodCondition{Type: corev1.PodReady, Status: corev1.ConditionFalse,
				Reason: "NodeNotReady", LastTransitionTime: metav1.NewTime(n.w.Now())})
			return nil
		})
	}, nil)
}
