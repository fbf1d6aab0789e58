package script

import (
	"slices"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berthproject/berth/sim/store"
)

// workload holds the fields that the workloads of a line share.
type workload struct {
	meta     metav1.ObjectMeta
	replicas *int32
	selector *metav1.LabelSelector
	template corev1.PodTemplateSpec
}

// readWorkload returns a reader that adds the objects that newObject returns.
func readWorkload(kind string, accepted []string, newObject func(workload, *options) store.Object) func(*parser, *tokens) {
	return func(p *parser, w *tokens) {
		p.addNamedObjects(w, kind, append(accepted, podOptions...), func(name string, o *options) store.Object {
			l := workload{meta: o.metadata(name), replicas: new(int32(o.number("replicas", 1, 0, 100_000)))}
			l.meta.Generation = 1
			if p, ok := newPod(name, o).(*corev1.Pod); ok {
				l.template.Labels, l.template.Annotations, l.template.Spec = p.Labels, p.Annotations, p.Spec
			}
			if len(l.template.Labels) == 0 {
				l.template.Labels = map[string]string{"app": name}
			}
			l.selector = &metav1.LabelSelector{MatchLabels: l.template.Labels}
			return newObject(l, o)
		})
	}
}

func newReplicaSet(l workload, _ *options) store.Object {
	return &appsv1.ReplicaSet{ObjectMeta: l.meta, Spec: appsv1.ReplicaSetSpec{Replicas: l.replicas, Selector: l.selector, Template: l.template}}
}

func newStatefulSet(l workload, o *options) store.Object {
	s := &appsv1.StatefulSet{ObjectMeta: l.meta, Spec: appsv1.StatefulSetSpec{Replicas: l.replicas, Selector: l.selector, Template: l.template}}
	if o.has("parallel") {
		s.Spec.PodManagementPolicy = appsv1.ParallelPodManagement
	}
	return s
}

func newDaemonSet(l workload, _ *options) store.Object {
	return &appsv1.DaemonSet{ObjectMeta: l.meta, Spec: appsv1.DaemonSetSpec{Selector: l.selector, Template: l.template}}
}

func newDeployment(l workload, _ *options) store.Object {
	return &appsv1.Deployment{ObjectMeta: l.meta, Spec: appsv1.DeploymentSpec{Replicas: l.replicas, Selector: l.selector, Template: l.template}}
}

func readImage(p *parser, w *tokens) {
	name, image := w.name("the deployment"), w.name("the image")
	p.addStep(func(r *run) {
		change(r, name, "is updated to image "+image, func(d *appsv1.Deployment) {
			d.Spec.Template.Spec.Containers = slices.Clone(d.Spec.Template.Spec.Containers)
			d.Spec.Template.Spec.Containers[0].Image = image
			d.Generation++
		})
	})
}

func readScale(p *parser, w *tokens) {
	name := w.name("the workload")
	word, _ := w.next()
	n, err := strconv.ParseInt(word, 10, 32)
	if err != nil || n < 0 {
		w.failf("%q: must be a number of replicas", word)
	}
	p.addStep(func(r *run) {
		text := "is scaled to " + word
		if get[*appsv1.Deployment](r, name) != nil {
			change(r, name, text, func(d *appsv1.Deployment) { d.Spec.Replicas, d.Generation = new(int32(n)), d.Generation+1 })
			return
		}
		change(r, name, text, func(s *appsv1.ReplicaSet) { s.Spec.Replicas, s.Generation = new(int32(n)), s.Generation+1 })
	})
}
