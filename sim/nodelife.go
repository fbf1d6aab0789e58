package sim

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/nodehealth"
	"github.com/berthproject/berth/internal/intake"
	"github.com/berthproject/berth/sim/store"
)

// nodelife is the actor that finds out which nodes are lost, and taints nodes for that and
// for their other conditions. Leases are no objects here: it is told what they would say.
// While all is well it sleeps.
type nodelife struct {
	*client
	machine *nodehealth.Machine
	steps   stepper[nodehealth.Event]
	asked   int // effects under way
}

// lease is how often a node renews its Lease.
const lease = 10 * time.Second

func newNodelife(w *World) *nodelife {
	n := &nodelife{client: w.newClient("nodelifecycle", store.Nodes, store.Pods)}
	n.steps = stepper[nodehealth.Event]{c: n.client, step: n.step}
	n.end = func() { n.steps.forget(); n.asked = 0 }
	n.begin = func() {
		n.machine = nodehealth.New(w.o.NodeHealth, w.now)
		for _, name := range sortedKeys(n.known[store.Nodes]) {
			n.steps.put(intake.HealthNode(n.node(name)))
		}
		for _, key := range sortedKeys(n.known[store.Pods]) {
			n.unready(n.pod(key))
		}
	}
	n.see = func(k store.Kind, old, now store.Object) {
		switch now := now.(type) {
		case *corev1.Pod:
			if was, ok := old.(*corev1.Pod); !ok || was.Spec.NodeName == "" {
				n.unready(now)
			}
		case *corev1.Node:
			n.steps.put(intake.HealthNode(now))
			if was, ok := old.(*corev1.Node); ok && nodeReady(was) && !nodeReady(now) {
				for _, key := range sortedKeys(n.known[store.Pods]) {
					n.unready(n.pod(key))
				}
			}
		case nil:
			if k == store.Nodes {
				n.steps.put(nodehealth.Gone{Node: old.GetName()})
			}
		}
	}
	n.start()
	return n
}

func (n *nodelife) step(now time.Time, events []nodehealth.Event) time.Time {
	well := true
	for _, name := range sortedKeys(n.known[store.Nodes]) {
		events = append(events, nodehealth.Renewed{Node: name, Time: n.w.agents.renewed(name)})
		well = well && nodeReady(n.node(name)) && !n.w.agents.silent(name)
	}
	effects, wake := n.machine.Step(now, events)
	for _, e := range effects {
		n.asked++
		switch e := e.(type) {
		case nodehealth.MarkUnknown:
			n.write(e.Node, nodehealth.Outcome{Node: e.Node, UID: e.UID}, func(o *corev1.Node) bool { return n.unknown(o, e) })
		case nodehealth.Retaint:
			n.write(e.Node, nodehealth.Outcome{Node: e.Node, UID: e.UID, Taints: true}, func(o *corev1.Node) bool { return n.retaint(o, &e) })
		}
	}
	if well && n.asked == 0 {
		return time.Time{} // a change of a node, or an agent that falls silent, wakes it
	}
	return wake
}

// write changes a node, if it is as it is known to be.
func (n *nodelife) write(name string, out nodehealth.Outcome, f func(*corev1.Node) bool) {
	pre := store.Precondition{UID: out.UID}
	if o := n.node(name); o != nil {
		pre.ResourceVersion = o.ResourceVersion
	}
	n.send("node", name, func() error {
		return n.w.api.Change(store.Nodes, name, pre, func(o store.Object) error {
			if node, ok := o.(*corev1.Node); !ok || !f(node) {
				return store.ErrNothing
			}
			return nil
		})
	}, func(err error) {
		n.asked--
		out.Failed = err != nil
		n.steps.put(out)
	})
}

func (n *nodelife) unknown(o *corev1.Node, e nodehealth.MarkUnknown) bool {
	conditions := slices.Clone(o.Status.Conditions)
	for _, c := range e.Conditions {
		next := corev1.NodeCondition{Type: corev1.NodeConditionType(c.Type), Status: corev1.ConditionStatus(c.Status.String()), Reason: c.Reason,
			Message: c.Message, LastHeartbeatTime: metav1.NewTime(c.Heartbeat), LastTransitionTime: metav1.NewTime(c.Transition)}
		conditions = setCondition(conditions, next)
	}
	o.Status.Conditions = conditions
	n.w.tell("nodes", "unknown", o.Name, fmt.Sprintf("node %s is silent since %v: its conditions are unknown", o.Name, e.Silent.Sub(n.w.start).Round(time.Second)))
	return true
}

func setCondition(list []corev1.NodeCondition, c corev1.NodeCondition) []corev1.NodeCondition {
	i := slices.IndexFunc(list, func(o corev1.NodeCondition) bool { return o.Type == c.Type })
	if i < 0 {
		return append(list, c)
	}
	list[i] = c
	return list
}

func (n *nodelife) retaint(o *corev1.Node, e *nodehealth.Retaint) bool {
	taints, changed := e.Apply(intake.TimedTaints(o))
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
		n.w.tell("nodes", "taint", o.Name, "node "+o.Name+" gets the taint "+words(&e.Add[i].Taint))
	}
	for i := range e.Remove {
		n.w.tell("nodes", "untaint", o.Name, "node "+o.Name+" is rid of the taint "+words(&e.Remove[i]))
	}
	return true
}

func words(t *model.Taint) string { return t.Key + ":" + t.Effect.String() }

// unready says of a pod on a node that is not ready that it is not ready either, so
// that nobody sends it requests.
func (n *nodelife) unready(p *corev1.Pod) {
	node := n.node(p.Spec.NodeName)
	if node == nil || nodeReady(node) || !isReady(p) {
		return
	}
	n.send("unready", keyOf(p), func() error {
		return n.w.api.ChangePod(keyOf(p), store.Precondition{UID: string(p.UID)}, func(o *corev1.Pod) error {
			if !isReady(o) {
				return store.ErrNothing
			}
			o.Status.Conditions = store.WithCondition(o.Status.Conditions, corev1.PodCondition{Type: corev1.PodReady, Status: corev1.ConditionFalse,
				Reason: "NodeNotReady", LastTransitionTime: metav1.NewTime(n.w.now)})
			return nil
		})
	}, nil)
}

func nodeReady(n *corev1.Node) bool {
	for i := range n.Status.Conditions {
		if c := &n.Status.Conditions[i]; c.Type == corev1.NodeReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}
