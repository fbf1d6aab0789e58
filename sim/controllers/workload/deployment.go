package workload

import (
	"fmt"
	"hash/fnv"
	"maps"
	"strconv"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	engineworkload "github.com/berthproject/berth/engine/workload"
	"github.com/berthproject/berth/internal/conversion"
	"github.com/berthproject/berth/sim/store"
)

// reconcileDeployment reconciles a Deployment. Its templates differ only in their images.
func (o *controller) reconcileDeployment(d *appsv1.Deployment, done func(time.Duration, error)) {
	var sets []engineworkload.Set
	var objects []*appsv1.ReplicaSet
	oldPods := false
	for _, key := range o.Keys(store.ReplicaSets) {
		rs, ok := o.Cached(store.ReplicaSets)[key].(*appsv1.ReplicaSet)
		if c := metav1.GetControllerOfNoCopy(rs); !ok || c == nil || c.UID != d.UID {
			continue
		}
		current := imageOf(&rs.Spec.Template.Spec) == imageOf(&d.Spec.Template.Spec)
		sets, objects = append(sets, conversion.DeploymentReplicaSet(rs, current)), append(objects, rs)
		oldPods = oldPods || !current && len(o.pods[string(rs.UID)]) > 0
	}
	machine := conversion.Deployment(d)
	h := fnv.New32a()
	_, _ = h.Write([]byte(imageOf(&d.Spec.Template.Spec)))
	name := fmt.Sprintf("%s-%x", d.Name, h.Sum32())
	plan := machine.Plan(o.w.Now(), sets, name, oldPods)
	queueKey := "Deployment " + store.KeyOf(d)
	retry := func(err error) {
		if err != nil {
			o.queue.Add(queueKey, time.Second)
		}
	}
	if plan.Create {
		o.createSet(d, name, &machine, &plan, retry)
	}
	for _, s := range plan.Scale {
		o.changeSet(objects[s.Set], fmt.Sprintf("is scaled to %d pods", s.To), retry, func(rs *appsv1.ReplicaSet) {
			rs.Spec.Replicas = &s.To
			rs.Generation++
			setScaleAnnotations(rs, &machine)
		})
	}
	for _, i := range plan.Annotate {
		o.changeSet(objects[i], "", retry, func(rs *appsv1.ReplicaSet) { setScaleAnnotations(rs, &machine) })
	}
	if i := plan.Current; i >= 0 && objects[i].Annotations[conversion.RevisionAnnotation] != strconv.FormatInt(plan.Revision, 10) {
		o.changeSet(objects[i], "", retry, func(rs *appsv1.ReplicaSet) {
			rs.Annotations = maps.Clone(rs.Annotations)
			rs.Annotations[conversion.RevisionAnnotation] = strconv.FormatInt(plan.Revision, 10)
		})
	}
	for _, i := range plan.Delete {
		key, pre := store.KeyOf(objects[i]), store.Precondition{UID: string(objects[i].UID)}
		o.Request("delete", key, func() error { return o.w.API().Delete(store.ReplicaSets, key, pre) }, retry)
	}
	done(o.requeueAfter(plan.Wake), nil)
}

// setScaleAnnotations records the Deployment's size at the last scaling of a ReplicaSet.
func setScaleAnnotations(rs *appsv1.ReplicaSet, d *engineworkload.Deployment) {
	annotations := maps.Clone(rs.Annotations)
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[conversion.DesiredReplicasAnnotation] = strconv.Itoa(int(d.Replicas))
	annotations[conversion.MaxReplicasAnnotation] = strconv.Itoa(int(d.Replicas + d.MaxSurge))
	rs.Annotations = annotations
}

func (o *controller) createSet(d *appsv1.Deployment, name string, machine *engineworkload.Deployment, plan *engineworkload.DeploymentPlan, onResult func(error)) {
	isController := true
	replicas := plan.CreateReplicas
	rs := &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: d.Namespace, Name: name, Generation: 1, Labels: d.Spec.Template.Labels,
			Annotations:     map[string]string{conversion.RevisionAnnotation: strconv.FormatInt(plan.Revision, 10)},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "Deployment", Name: d.Name, UID: d.UID, Controller: &isController}}},
		Spec: appsv1.ReplicaSetSpec{Replicas: &replicas, Selector: d.Spec.Selector, Template: *d.Spec.Template.DeepCopy()},
	}
	setScaleAnnotations(rs, machine)
	o.Request("create", store.KeyOf(rs), func() error {
		o.w.Log("workload", "create", store.KeyOf(rs), fmt.Sprintf("replicaset %s is created for deployment %s with %d pods", rs.Name, d.Name, replicas))
		return o.w.API().Create(rs)
	}, onResult)
}

// changeSet updates a ReplicaSet unless it changed in the meantime.
func (o *controller) changeSet(rs *appsv1.ReplicaSet, change string, onResult func(error), f func(*appsv1.ReplicaSet)) {
	key := store.KeyOf(rs)
	o.Request("scale", key, func() error {
		return o.w.API().Update(store.ReplicaSets, key, store.Precondition{UID: string(rs.UID), ResourceVersion: rs.ResourceVersion}, func(obj store.Object) error {
			if set, ok := obj.(*appsv1.ReplicaSet); ok {
				f(set)
				if change != "" {
					o.w.Log("workload", "scale", key, "replicaset "+set.Name+" "+change)
				}
			}
			return nil
		})
	}, onResult)
}
