package drainactor

import (
	"fmt"
	"maps"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berthproject/berth/engine/evacuation"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/internal/conversion"
	"github.com/berthproject/berth/sim/store"
)

// scale adds delta to the replicas of the pod's owner or its Deployment. A decrease is skipped if
// another client changed the replicas.
func (d *Drainer) scale(a *evacuation.Action, delta int32) {
	p := a.Move.Pod
	k, key := d.scaleTarget(p)
	err := fmt.Errorf("%s %s does not exist", p.Owner.Kind, p.Owner.Name)
	if k != "" {
		err = d.w.API().Update(k, key, store.Precondition{}, func(o store.Object) error {
			n := replicasField(o)
			if n == nil {
				return fmt.Errorf("%s %s has no replicas", k, key)
			}
			if delta < 0 && **n != d.surgedReplicas[string(k)+" "+key] {
				d.w.Log("drain", "surge", key, fmt.Sprintf("%s keeps its %d replicas: another client changed them in the meantime", key, **n))
				return store.ErrUnchanged
			}
			next := max(**n+delta, 0)
			*n, d.surgedReplicas[string(k)+" "+key] = &next, next
			o.SetGeneration(o.GetGeneration() + 1)
			d.w.Log("drain", "surge", key, fmt.Sprintf("%s is scaled to %d for %s", key, next, p.Key()))
			return nil
		})
	}
	message := ""
	if err != nil {
		message = err.Error()
	}
	d.machine.HandleResult(d.w.Now(), a.ID, evacuation.Result{Done: err == nil, Message: message})
	d.schedule(d.PollDelay(responseInterval))
}

// annotateReplacement marks the pod as replaced by its surge pod.
func (d *Drainer) annotateReplacement(e *evacuation.Action) {
	if e.SurgePod == nil {
		return
	}
	if o, ok := d.w.API().Get(store.ReplicaSets, store.Key(e.Move.Pod.Namespace, e.Move.Pod.Owner.Name)); ok {
		d.annotate(e, conversion.ExpectedReplacement(e.SurgePod.Name, o.GetGeneration()))
	}
}

// removeReplacementAnnotation reverts annotateReplacement for a pod that is not evicted.
func (d *Drainer) removeReplacementAnnotation(e *evacuation.Action) {
	if e.SurgePod != nil {
		d.annotate(e, "")
	}
}

// annotate sets the replacement annotation of a pod; "" deletes it.
func (d *Drainer) annotate(e *evacuation.Action, replacement string) {
	_ = d.w.API().Update(store.Pods, e.Move.Pod.Key(), store.Precondition{UID: e.Move.Pod.UID}, func(o store.Object) error {
		annotations := maps.Clone(o.GetAnnotations())
		if annotations == nil {
			annotations = map[string]string{}
		}
		if annotations[conversion.ExpectedReplacementAnnotation] = replacement; replacement == "" {
			delete(annotations, conversion.ExpectedReplacementAnnotation)
		}
		o.SetAnnotations(annotations)
		return nil
	})
}

// scaleTarget returns the object that sets the replicas of a pod's owner.
func (d *Drainer) scaleTarget(p *model.Pod) (store.Kind, string) {
	key := store.Key(p.Namespace, p.Owner.Name)
	switch p.Owner.Kind {
	case "StatefulSet":
		return store.StatefulSets, key
	case "ReplicaSet":
		o, ok := d.w.API().Get(store.ReplicaSets, key)
		if !ok {
			return "", ""
		}
		if c := metav1.GetControllerOfNoCopy(o); c != nil && c.Kind == "Deployment" {
			return store.Deployments, store.Key(p.Namespace, c.Name)
		}
		return store.ReplicaSets, key
	}
	return "", ""
}

// replicasField returns the replicas field of a workload, or nil if it has none.
func replicasField(o store.Object) **int32 {
	switch o := o.(type) {
	case *appsv1.Deployment:
		return &o.Spec.Replicas
	case *appsv1.ReplicaSet:
		return &o.Spec.Replicas
	case *appsv1.StatefulSet:
		return &o.Spec.Replicas
	}
	return nil
}
