package cluster

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/nodelifecycle"
	"github.com/berthproject/berth/internal/conversion"
	"github.com/berthproject/berth/sim/store"
)

// nodeLifecycle is the node lifecycle controller: it detects lost nodes and taints nodes by
// conditions. Leases are not objects here; heartbeats provide the renew times.
type nodeLifecycle struct {
	*client
	machine       *nodelifecycle.Machine
	steps         stepper[nodelifecycle.Event]
	pendingWrites int
}

// leaseRenewInterval is the renewal interval of node Leases.
const leaseRenewInterval = 10 * time.Second

func newNodeLifecycle(w *Cluster) *nodeLifecycle {
	n := &nodeLifecycle{client: w.newClient("nodelifecycle", store.Nodes, store.Pods)}
	n.steps = stepper[nodelifecycle.Event]{c: n.client, step: n.step}
	n.onStop = func() { n.steps.reset(); n.pendingWrites = 0 }
	n.onSynced = func() {
		n.machine = nodelifecycle.New(w.o.NodeHealth, w.now)
		for _, name := range sortedKeys(n.cache[store.Nodes]) {
			n.steps.enqueue(conversion.NodeLifecycleNode(n.node(name)))
		}
		for _, key := range sortedKeys(n.cache[store.Pods]) {
			n.markPodNotReady(n.pod(key))
		}
	}
	n.onChange = func(k store.Kind, old, now store.Object) {
		switch now := now.(type) {
		case *corev1.Pod:
			if was, ok := old.(*corev1.Pod); !ok || was.Spec.NodeName == "" {
				n.markPodNotReady(now)
			}
		case *corev1.Node:
			n.steps.enqueue(conversion.NodeLifecycleNode(now))
			if was, ok := old.(*corev1.Node); ok && nodeReady(was) && !nodeReady(now) {
				for _, key := range sortedKeys(n.cache[store.Pods]) {
					n.markPodNotReady(n.pod(key))
				}
			}
		case nil:
			if k == store.Nodes {
				n.steps.enqueue(nodelifecycle.NodeDeleted{Node: old.GetName()})
			}
		}
	}
	n.start()
	return n
}

func (n *nodeLifecycle) step(now time.Time, events []nodelifecycle.Event) time.Time {
	well := true
	for _, name := range sortedKeys(n.cache[store.Nodes]) {
		events = append(events, nodelifecycle.LeaseRenewed{Node: name, Time: n.w.agents.leaseRenewed(name)})
		well = well && nodeReady(n.node(name)) && !n.w.agents.isSilent(name)
	}
	effects, wake := n.machine.Step(now, events)
	for _, e := range effects {
		n.pendingWrites++
		switch e := e.(type) {
		case nodelifecycle.MarkUnknown:
			n.write(e.Node, nodelifecycle.Outcome{Node: e.Node, UID: e.UID}, func(o *corev1.Node) bool { return n.markUnknown(o, e) })
		case nodelifecycle.UpdateTaints:
			n.write(e.Node, nodelifecycle.Outcome{Node: e.Node, UID: e.UID, IsTaintUpdate: true}, func(o *corev1.Node) bool { return n.retaint(o, &e) })
		}
	}
	if well && n.pendingWrites == 0 {
		return time.Time{} // a node change or a silent agent wakes it
	}
	return wake
}

// write changes a node unless it changed in the meantime.
func (n *nodeLifecycle) write(name string, out nodelifecycle.Outcome, f func(*corev1.Node) bool) {
	pre := store.Precondition{UID: out.UID}
	if o := n.node(name); o != nil {
		pre.ResourceVersion = o.ResourceVersion
	}
	n.request("node", name, func() error {
		return n.w.api.Update(store.Nodes, name, pre, func(o store.Object) error {
			if node, ok := o.(*corev1.Node); !ok || !f(node) {
				return store.ErrUnchanged
			}
			return nil
		})
	}, func(err error) {
		n.pendingWrites--
		out.Failed = err != nil
		n.steps.enqueue(out)
	})
}

func (n *nodeLifecycle) markUnknown(o *corev1.Node, e nodelifecycle.MarkUnknown) bool {
	conditions := slices.Clone(o.Status.Conditions)
	for _, c := range e.Conditions {
		next := corev1.NodeCondition{Type: corev1.NodeConditionType(c.Type), Status: corev1.ConditionStatus(c.Status.String()), Reason: c.Reason,
			Message: c.Message, LastHeartbeatTime: metav1.NewTime(c.Heartbeat), LastTransitionTime: metav1.NewTime(c.Transition)}
		conditions = setCondition(conditions, next)
	}
	o.Status.Conditions = conditions
	n.w.log("nodes", "unknown", o.Name, fmt.Sprintf("node %s has sent no heartbeat since %v: its conditions are set to Unknown", o.Name, e.SilentSince.Sub(n.w.start).Round(time.Second)))
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

func (n *nodeLifecycle) retaint(o *corev1.Node, e *nodelifecycle.UpdateTaints) bool {
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
		n.w.log("nodes", "taint", o.Name, "node "+o.Name+" is tainted with "+formatTaint(&e.Add[i].Taint))
	}
	for i := range e.Remove {
		n.w.log("nodes", "untaint", o.Name, "node "+o.Name+" is no longer tainted with "+formatTaint(&e.Remove[i]))
	}
	return true
}

func formatTaint(t *model.Taint) string { return t.Key + ":" + t.Effect.String() }

// markPodNotReady sets a pod on a node that is not Ready to not Ready.
func (n *nodeLifecycle) markPodNotReady(p *corev1.Pod) {
	node := n.node(p.Spec.NodeName)
	if node == nil || nodeReady(node) || !isReady(p) {
		return
	}
	n.request("unready", keyOf(p), func() error {
		return n.w.api.UpdatePod(keyOf(p), store.Precondition{UID: string(p.UID)}, func(o *corev1.Pod) error {
			if !isReady(o) {
				return store.ErrUnchanged
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
