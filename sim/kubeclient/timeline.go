package kubeclient

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berthproject/berth/api/v1alpha1"
	"github.com/berthproject/berth/controllers/endpoints"
	"github.com/berthproject/berth/internal/conversion"
	"github.com/berthproject/berth/internal/displacer"
	"github.com/berthproject/berth/internal/journal"
	"github.com/berthproject/berth/sim/store"
)

// logNames are the names of actors in the timeline, where they differ.
var logNames = map[string]string{"nodelifecycle": "nodes"}

// log adds a line about an object to the timeline.
func (c *client) log(action string, o store.Object, text string) {
	c.w.Log(cmp.Or(logNames[c.actor.Name()], c.actor.Name()), action, store.KeyOf(o), text)
}

// logChange logs what a request of the actor has changed. before is nil for a new object, after for a deleted one.
func (c *client) logChange(before, after store.Object) {
	if l, ok := c.actor.(ChangeLogger); ok {
		l.LogChange(before, after)
		return
	}
	object := after
	if after == nil {
		object = before
	}
	switch o := object.(type) {
	case *corev1.Pod:
		if old, ok := before.(*corev1.Pod); ok {
			c.logPod(old, o, after == nil)
		}
	case *corev1.Node:
		if old, ok := before.(*corev1.Node); ok && after != nil {
			c.logNode(old, o)
		}
	case *corev1.PersistentVolumeClaim:
		if old, ok := before.(*corev1.PersistentVolumeClaim); ok && old.Spec.VolumeName == "" && o.Spec.VolumeName != "" {
			c.log("bound", o, fmt.Sprintf("claim %s is bound to volume %s", store.KeyOf(o), o.Spec.VolumeName))
		}
	case *appsv1.ReplicaSet:
		old, _ := before.(*appsv1.ReplicaSet)
		switch owner := metav1.GetControllerOfNoCopy(o); {
		case c.isGarbageCollector():
			c.logCollected(o, after)
		case before == nil && owner != nil:
			c.log("create", o, fmt.Sprintf("replicaset %s is created for deployment %s with %d pods", o.Name, owner.Name, *o.Spec.Replicas))
		case before != nil && after != nil && *old.Spec.Replicas != *o.Spec.Replicas:
			c.log("scale", o, fmt.Sprintf("replicaset %s is scaled to %d pods", o.Name, *o.Spec.Replicas))
		}
	case *v1alpha1.Hold:
		c.logHold(o, before == nil, after == nil)
	case *discoveryv1.EndpointSlice:
		c.logEndpoints(store.Key(o.Namespace, o.Labels[discoveryv1.LabelServiceName]), o)
	default:
		if c.isGarbageCollector() {
			c.logCollected(o, after)
		}
	}
}

func (c *client) isGarbageCollector() bool { return c.actor.Name() == "garbagecollector" }

// logCollected logs that the garbage collector deleted an object.
func (c *client) logCollected(o, after store.Object) {
	if after == nil || after.GetDeletionTimestamp() != nil {
		kind := strings.TrimSuffix(string(store.KindOf(o)), "s")
		c.log("delete", o, kind+" "+store.KeyOf(o)+" is deleted, because its owner does not exist")
	}
}

// logPod logs that a pod is deleted or that its displacement did not happen.
func (c *client) logPod(old, p *corev1.Pod, deleted bool) {
	key := store.KeyOf(p)
	switch {
	case !deleted && (old.DeletionTimestamp != nil || p.DeletionTimestamp == nil):
		if conversion.ActiveDisruptionTarget(old) != nil && conversion.ActiveDisruptionTarget(p) == nil {
			c.log("reset", p, key+" is not displaced after all")
		}
	case c.actor.Name() == "taints":
		c.log("displace", p, key+" on "+p.Spec.NodeName+" is evicted"+c.displacementRule(p))
	case c.actor.Name() == "podgc" && conversion.ActiveDisruptionTarget(p) != nil && old.DeletionTimestamp == nil:
		c.log("displace", p, key+" on "+p.Spec.NodeName+" is garbage-collected"+c.displacementRule(p))
	case c.actor.Name() == "podgc":
		c.log("collect", p, key+" is garbage-collected")
	case c.isGarbageCollector():
		c.logCollected(p, nil)
	default:
		c.log("delete", p, key+" is deleted by its owner")
	}
}

// displacementRule returns ": " and the rule in the displacement record of a pod, or that the record is missing.
func (c *client) displacementRule(p *corev1.Pod) string {
	o, _ := c.w.API().Get(store.Events, store.Key(p.Namespace, displacer.RecordEventName(p.Name, string(p.UID))))
	e, ok := o.(*eventsv1.Event)
	if !ok {
		return ", without a record"
	}
	record, err := journal.ParseDisplacement(e.Annotations[journal.Annotation])
	if err != nil {
		return ": " + err.Error()
	}
	return ": " + record.Rule
}

// logNode logs changes of a node's taints, and that its conditions became Unknown.
func (c *client) logNode(old, n *corev1.Node) {
	if status := store.NodeConditionStatus(n, corev1.NodeReady); status == corev1.ConditionUnknown && store.NodeConditionStatus(old, corev1.NodeReady) != status {
		since := store.NodeCondition(n, corev1.NodeReady).LastTransitionTime
		c.log("unknown", n, fmt.Sprintf("node %s has sent no heartbeat: its conditions are Unknown since %v", n.Name, since.Sub(c.w.Options().Start).Round(time.Second)))
	}
	for i := range n.Spec.Taints {
		if t := &n.Spec.Taints[i]; !containsTaint(old.Spec.Taints, t) {
			c.log("taint", n, fmt.Sprintf("node %s is tainted with %s:%s", n.Name, t.Key, t.Effect))
		}
	}
	for i := range old.Spec.Taints {
		if t := &old.Spec.Taints[i]; !containsTaint(n.Spec.Taints, t) {
			c.log("untaint", n, fmt.Sprintf("node %s is no longer tainted with %s:%s", n.Name, t.Key, t.Effect))
		}
	}
}

func containsTaint(list []corev1.Taint, t *corev1.Taint) bool {
	for i := range list {
		if list[i].MatchTaint(t) {
			return true
		}
	}
	return false
}

// logHold logs a change of a Hold.
func (c *client) logHold(h *v1alpha1.Hold, isNew, deleted bool) {
	switch s := &h.Spec; {
	case s.Type == v1alpha1.Avoid && deleted:
		c.log("hold", h, "pods of "+s.Owner.Name+" no longer avoid "+s.Node)
	case s.Type == v1alpha1.Avoid:
		c.log("hold", h, "pods of "+s.Owner.Name+" avoid "+s.Node+" for "+s.Until.Sub(c.w.Now()).Round(time.Second).String())
	case deleted:
		c.log("release", h, "the Hold on "+s.Node+" for pods of "+s.Owner.Name+" is released")
	case isNew:
		c.log("hold", h, "capacity on "+s.Node+" is reserved for the replacement of "+store.Key(h.Namespace, s.Victim.Name))
	}
}

// logEndpoints logs the numbers of endpoints of a Service when they change.
func (c *client) logEndpoints(service string, o store.Object) {
	n := endpoints.Count(c.w.API().EndpointSlices(service))
	if c.endpoints[service] != n {
		c.endpoints[service] = n
		c.log("slices", o, fmt.Sprintf("service %s has %d ready endpoints, %d terminating (%d still serving)", service, n.Ready, n.Terminating, n.ServingTerminating))
	}
}

// logCreatedPod logs that the actor received the response to the creation of a pod.
func (c *client) logCreatedPod(o store.Object) {
	p, ok := o.(*corev1.Pod)
	if owner := metav1.GetControllerOfNoCopy(o); ok && owner != nil {
		c.log("create", p, store.KeyOf(p)+" is created for "+strings.ToLower(owner.Kind)+" "+owner.Name)
	}
}
