package sim

import (
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berthproject/berth/engine/budget"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/sim/store"
)

// disruption is the actor that keeps the status of budgets, from watches of its own, and
// takes back conditions of pods that were to be displaced and were not.
type disruption struct {
	*client
	cover *coverage
	loop  *loop // by budget
	stale *loop // by pod
}

// recount is how close together changes are counted once.
const recount = 100 * time.Millisecond

func newDisruption(w *World) *disruption {
	d := &disruption{client: w.newClient("disruption", store.Controllers, store.Deployments, store.ReplicaSets, store.StatefulSets, store.Budgets, store.Pods)}
	d.loop, d.stale = newLoop(d.client, d.sync), newLoop(d.client, d.reset)
	d.end = func() { d.loop.forget(); d.stale.forget() }
	d.begin = d.first
	d.see = func(k store.Kind, old, now store.Object) {
		about := now
		if now == nil {
			about = old
		}
		touched := d.cover.take(k, keyOf(about), now)
		if k != store.Pods && k != store.Budgets {
			touched = d.cover.names // what their owners want may have changed
		}
		for _, key := range touched {
			d.loop.add(key, recount)
		}
		if p, ok := now.(*corev1.Pod); ok {
			d.target(p)
		}
	}
	d.start()
	return d
}

// first looks at everything.
func (d *disruption) first() {
	d.cover = newCoverage()
	for _, k := range []store.Kind{store.Budgets, store.Pods} {
		for _, key := range sortedKeys(d.known[k]) {
			d.cover.take(k, key, d.known[k][key])
		}
	}
	for _, key := range d.cover.names {
		d.loop.add(key, 0)
	}
	for _, key := range sortedKeys(d.known[store.Pods]) {
		d.target(d.pod(key))
	}
}

// sync writes a budget's status, if it is to change, and tells what is to be told.
func (d *disruption) sync(key string, done func(time.Duration, error)) {
	b, ok := d.known[store.Budgets][key].(*policyv1.PodDisruptionBudget)
	if !ok {
		done(0, nil)
		return
	}
	count := d.w.facts(b, d.cover.members(key), d.lookup).Count()
	for _, e := range count.Events {
		var about store.Object = b
		if e.Pod != nil {
			about = d.pod(e.Pod.Key())
		}
		if about != nil {
			_ = d.w.once(about, "controllermanager", e.Reason, "", e.Note, e.Note)
		}
	}
	next := d.w.status(b, &count)
	if sameStatus(&b.Status, &next) {
		done(count.Again, nil)
		return
	}
	d.send("status", key, func() error {
		return d.w.api.Change(store.Budgets, key, store.Precondition{UID: string(b.UID), ResourceVersion: b.ResourceVersion}, func(o store.Object) error {
			if pdb, ok := o.(*policyv1.PodDisruptionBudget); ok {
				pdb.Status = next
			}
			return nil
		})
	}, func(err error) { done(count.Again, err) })
}

func (d *disruption) lookup(k store.Kind, key string) (store.Object, bool) {
	o, ok := d.known[k][key]
	return o, ok
}

// lookup finds a workload.
type lookup func(store.Kind, string) (store.Object, bool)

// facts are what a budget's status is made from: the pods that it covers, and the
// workloads above them.
func (w *World) facts(b *policyv1.PodDisruptionBudget, pods []*corev1.Pod, find lookup) budget.Facts {
	f := budget.Facts{Budget: w.intake.Budget(b), Now: w.now}
	for _, p := range pods {
		f.Pods = append(f.Pods, w.standing(p))
	}
	f.Scale = func(o model.Owner) budget.Scale {
		if strings.HasPrefix(o.UID, StandIn) {
			selector, err := metav1.LabelSelectorAsSelector(b.Spec.Selector)
			if err != nil {
				return budget.Scale{Fault: err.Error()}
			}
			return budget.Scale{UID: o.UID, Replicas: w.owners.wanted(o.UID, selector)}
		}
		return scaleOf(b.Namespace, o, find)
	}
	return f
}

// scaleOf is what a pod's controller wants, or the one above it.
func scaleOf(namespace string, o model.Owner, find lookup) budget.Scale {
	kind, scales := map[string]store.Kind{"ReplicaSet": store.ReplicaSets, "StatefulSet": store.StatefulSets, "ReplicationController": store.Controllers,
		"Deployment": store.Deployments}[o.Kind]
	if !scales {
		return budget.Scale{Fault: o.Kind + " has no scale"}
	}
	found, ok := find(kind, store.Key(namespace, o.Name))
	if !ok || string(found.GetUID()) != o.UID {
		return budget.Scale{Fault: "found no controller"}
	}
	if above := metav1.GetControllerOfNoCopy(found); above != nil {
		return scaleOf(namespace, model.Owner{APIVersion: above.APIVersion, Kind: above.Kind, Name: above.Name, UID: string(above.UID)}, find)
	}
	replicas := int32(1)
	var n *int32
	switch found := found.(type) {
	case *appsv1.ReplicaSet:
		n = found.Spec.Replicas
	case *appsv1.Deployment:
		n = found.Spec.Replicas
	case *appsv1.StatefulSet:
		n = found.Spec.Replicas
	case *corev1.ReplicationController:
		n = found.Spec.Replicas
	}
	if n != nil {
		replicas = *n
	}
	return budget.Scale{UID: o.UID, Replicas: replicas}
}

// status is a count as the API has it.
func (w *World) status(b *policyv1.PodDisruptionBudget, c *budget.Count) policyv1.PodDisruptionBudgetStatus {
	s := policyv1.PodDisruptionBudgetStatus{ObservedGeneration: c.ObservedGeneration, DisruptionsAllowed: c.DisruptionsAllowed,
		CurrentHealthy: c.CurrentHealthy, DesiredHealthy: c.DesiredHealthy, ExpectedPods: c.ExpectedPods}
	for i, name := range c.Disrupted {
		if s.DisruptedPods == nil {
			s.DisruptedPods = map[string]metav1.Time{}
		}
		s.DisruptedPods[name] = metav1.NewTime(c.DisruptedAt[i])
	}
	allowed := metav1.Condition{Type: policyv1.DisruptionAllowedCondition, Status: metav1.ConditionFalse, Reason: c.Reason, Message: c.Message,
		ObservedGeneration: c.ObservedGeneration, LastTransitionTime: metav1.NewTime(w.now)}
	if c.Reason == budget.SufficientPods {
		allowed.Status = metav1.ConditionTrue
	}
	for i := range b.Status.Conditions {
		if was := &b.Status.Conditions[i]; was.Type == allowed.Type && was.Status == allowed.Status {
			allowed.LastTransitionTime = was.LastTransitionTime
		}
	}
	s.Conditions = []metav1.Condition{allowed}
	return s
}

// sameStatus says that there is nothing to write.
func sameStatus(a, b *policyv1.PodDisruptionBudgetStatus) bool {
	same := a.DisruptionsAllowed == b.DisruptionsAllowed && a.CurrentHealthy == b.CurrentHealthy && a.DesiredHealthy == b.DesiredHealthy &&
		a.ExpectedPods == b.ExpectedPods && a.ObservedGeneration == b.ObservedGeneration && len(a.DisruptedPods) == len(b.DisruptedPods)
	for name := range b.DisruptedPods {
		_, there := a.DisruptedPods[name]
		same = same && there
	}
	return same && len(a.Conditions) == 1 && a.Conditions[0].Reason == b.Conditions[0].Reason && a.Conditions[0].Message == b.Conditions[0].Message
}

// target has a pod looked at again when its condition is too old.
func (d *disruption) target(p *corev1.Pod) {
	if left, ends := d.ends(p); ends {
		d.stale.add(keyOf(p), left)
	}
}

// ends says for how long yet a pod may say that it is to be displaced.
func (d *disruption) ends(p *corev1.Pod) (time.Duration, bool) {
	c := disrupted(p)
	if c == nil {
		return 0, false
	}
	return budget.MarkEnds(d.w.standing(p), c.LastTransitionTime.Time, d.w.now)
}

// reset takes back what was said of a pod that was not displaced after all.
func (d *disruption) reset(key string, done func(time.Duration, error)) {
	p := d.pod(key)
	if p == nil {
		done(0, nil)
		return
	}
	if left, ends := d.ends(p); !ends || left > 0 {
		done(left, nil)
		return
	}
	d.send("reset", key, func() error {
		return d.w.api.ChangePod(key, store.Precondition{UID: string(p.UID), ResourceVersion: p.ResourceVersion}, func(o *corev1.Pod) error {
			o.Status.Conditions = store.WithCondition(o.Status.Conditions, corev1.PodCondition{Type: corev1.DisruptionTarget,
				Status: corev1.ConditionFalse, LastTransitionTime: metav1.NewTime(d.w.now)})
			d.w.tell("disruption", "reset", key, key+" is not displaced after all")
			return nil
		})
	}, func(err error) { done(0, err) })
}

func isReady(p *corev1.Pod) bool {
	for i := range p.Status.Conditions {
		if c := &p.Status.Conditions[i]; c.Type == corev1.PodReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}
