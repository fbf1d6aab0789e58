package script

import (
	"fmt"
	"slices"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berthproject/berth/sim/store"
)

// podTemplate returns the pod of a line as a template and its selector.
func podTemplate(name string, o *options) (corev1.PodTemplateSpec, *metav1.LabelSelector) {
	t := corev1.PodTemplateSpec{}
	if p, ok := newPod(name, o).(*corev1.Pod); ok {
		t.Labels, t.Annotations, t.Spec = p.Labels, p.Annotations, p.Spec
	}
	if len(t.Labels) == 0 {
		t.Labels = map[string]string{"app": name}
	}
	return t, &metav1.LabelSelector{MatchLabels: t.Labels}
}

func readReplicaSet(p *parser, w *tokens) error {
	return p.addNamedObjects(w, "replica set", append([]string{"replicas="}, podOptions...), func(name string, o *options) store.Object {
		rs := &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: o.namespace(), Name: name, Generation: 1}}
		n := int32(o.number("replicas", 1, 0, 100_000))
		rs.Spec.Replicas = &n
		rs.Spec.Template, rs.Spec.Selector = podTemplate(name, o)
		return rs
	})
}

func readStatefulSet(p *parser, w *tokens) error {
	return p.addNamedObjects(w, "stateful set", append([]string{"replicas=", "parallel"}, podOptions...), func(name string, o *options) store.Object {
		set := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Namespace: o.namespace(), Name: name, Generation: 1}}
		n := int32(o.number("replicas", 1, 0, 100_000))
		set.Spec.Replicas = &n
		if o.has("parallel") {
			set.Spec.PodManagementPolicy = appsv1.ParallelPodManagement
		}
		set.Spec.Template, set.Spec.Selector = podTemplate(name, o)
		return set
	})
}

func readDaemonSet(p *parser, w *tokens) error {
	return p.addNamedObjects(w, "daemon set", podOptions, func(name string, o *options) store.Object {
		ds := &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Namespace: o.namespace(), Name: name, Generation: 1}}
		ds.Spec.Template, ds.Spec.Selector = podTemplate(name, o)
		return ds
	})
}

func readDeployment(p *parser, w *tokens) error {
	return p.addNamedObjects(w, "deployment", append([]string{"replicas="}, podOptions...), func(name string, o *options) store.Object {
		d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: o.namespace(), Name: name, Generation: 1}}
		n := int32(o.number("replicas", 1, 0, 100_000))
		d.Spec.Replicas = &n
		d.Spec.Template, d.Spec.Selector = podTemplate(name, o)
		return d
	})
}

func readImage(p *parser, w *tokens) error {
	name, err := w.name("the deployment")
	if err != nil {
		return err
	}
	image, err := w.name("the image")
	p.addStep(func(r *run) error {
		return r.change(store.Deployments, objectKey(store.Deployments, name), "is updated to image "+image, func(o store.Object) {
			if d, ok := o.(*appsv1.Deployment); ok {
				d.Spec.Template.Spec.Containers = slices.Clone(d.Spec.Template.Spec.Containers)
				d.Spec.Template.Spec.Containers[0].Image = image
				d.Generation++
			}
		})
	})
	return err
}

func readScale(p *parser, w *tokens) error {
	name, err := w.name("the workload")
	if err != nil {
		return err
	}
	word, _ := w.next()
	n, err := strconv.ParseInt(word, 10, 32)
	if err != nil || n < 0 {
		return fmt.Errorf("%q: must be a number of replicas", word)
	}
	p.addStep(func(r *run) error {
		replicas, k := int32(n), store.ReplicaSets
		if _, exists := r.w.API().Get(store.Deployments, objectKey(store.Deployments, name)); exists {
			k = store.Deployments
		}
		return r.change(k, objectKey(k, name), "is scaled to "+word, func(o store.Object) {
			switch o := o.(type) {
			case *appsv1.ReplicaSet:
				o.Spec.Replicas = &replicas
				o.Generation++
			case *appsv1.Deployment:
				o.Spec.Replicas = &replicas
				o.Generation++
			}
		})
	})
	return nil
}
