package drainer

import (
	"fmt"
	"maps"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berthproject/berth/drain"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/internal/intake"
	"github.com/berthproject/berth/sim/store"
)

// scale has the owner of a pod, or the Deployment above it, run one more, or as many as before unless somebody else has
// set its replicas meanwhile.
func (d *Drainer) scale(p *model.Pod, by int32) {
	k, key := d.above(p)
	err := fmt.Errorf("%s %s is not there", p.Owner.Kind, p.Owner.Name)
	if k != "" {
		err = d.w.API().Change(k, key, store.Precondition{}, func(o store.Object) error {
			n := replicas(o)
			if n == nil {
				return fmt.Errorf("%s %s has no replicas", k, key)
			}
			if by < 0 && **n != d.raised[string(k)+" "+key] {
				d.w.Say("drain", "surge", key, fmt.Sprintf("%s keeps its %d replicas: somebody else has set them meanwhile", key, **n))
				return store.ErrNothing
			}
			next := max(**n+by, 0)
			*n, d.raised[string(k)+" "+key] = &next, next
			o.SetGeneration(o.GetGeneration() + 1)
			d.w.Say("drain", "surge", key, fmt.Sprintf("%s is to run %d for %s", key, next, p.Key()))
			return nil
		})
	}
	said := ""
	if err != nil {
		said = err.Error()
	}
	d.machine.SurgeAnswer(d.w.Now(), said)
	d.later(d.Pause(answer))
}

// markStandIn tells the owner of a pod that another one stands in for it, if so.
func (d *Drainer) markStandIn(e drain.Evict) {
	if e.StandIn == nil {
		return
	}
	if o, ok := d.w.API().Get(store.ReplicaSets, store.Key(e.Pod.Namespace, e.Pod.Owner.Name)); ok {
		d.annotate(e, intake.StandIn(e.StandIn.Name, o.GetGeneration()))
	}
}

// unmark takes that back for a pod that stays.
func (d *Drainer) unmark(e drain.Evict) {
	if e.StandIn != nil {
		d.annotate(e, "")
	}
}

// annotate writes who stands in for a pod; empty: nobody.
func (d *Drainer) annotate(e drain.Evict, standIn string) {
	_ = d.w.API().Change(store.Pods, e.Pod.Key(), store.Precondition{UID: e.Pod.UID}, func(o store.Object) error {
		notes := maps.Clone(o.GetAnnotations())
		if notes == nil {
			notes = map[string]string{}
		}
		if notes[intake.StandInAnnotation] = standIn; standIn == "" {
			delete(notes, intake.StandInAnnotation)
		}
		o.SetAnnotations(notes)
		return nil
	})
}

// above is what sets the replicas of a pod's owner.
func (d *Drainer) above(p *model.Pod) (store.Kind, string) {
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

func replicas(o store.Object) **int32 {
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
