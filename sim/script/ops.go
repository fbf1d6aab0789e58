package script

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berthproject/berth/informers"
	"github.com/berthproject/berth/sim/store"
)

// objectKinds are the kind names used in scenarios.
var objectKinds = map[string]store.Kind{"node": store.Nodes, "pod": store.Pods, "budget": store.PodDisruptionBudgets, "priorityclass": store.PriorityClasses,
	"namespace": store.Namespaces, "service": store.Services, "class": store.StorageClasses, "volume": store.PersistentVolumes, "claim": store.PersistentVolumeClaims,
	"deployment": store.Deployments, "replicaset": store.ReplicaSets, "statefulset": store.StatefulSets, "daemonset": store.DaemonSets}

// objectKey returns the key of an object; the default namespace is "default".
func objectKey(k store.Kind, name string) string {
	if store.IsNamespaced(k) && !strings.Contains(name, "/") {
		return "default/" + name
	}
	return name
}

// acts returns the reader of an action with one name, which the description describes.
func acts(description string, action func(r *run, name string)) func(*parser, *tokens) {
	return func(p *parser, w *tokens) {
		name := w.name(description)
		p.addStep(func(r *run) { action(r, name) })
	}
}

// actsWith is acts with a second name.
func actsWith(first, second string, action func(r *run, a, b string)) func(*parser, *tokens) {
	return func(p *parser, w *tokens) {
		a, b := w.name(first), w.name(second)
		p.addStep(func(r *run) { action(r, a, b) })
	}
}

// changes returns the reader of an action that changes an object. The text is what happens to it.
func changes[T store.Object](description, text string, f func(T)) func(*parser, *tokens) {
	return acts(description, func(r *run, name string) { change(r, name, text, f) })
}

var (
	readUngate   = changes("the pod", "is ungated", func(p *corev1.Pod) { p.Spec.SchedulingGates = nil })
	readCordon   = changes("the node", "is cordoned", func(n *corev1.Node) { n.Spec.Unschedulable = true })
	readUncordon = changes("the node", "is uncordoned", func(n *corev1.Node) { n.Spec.Unschedulable = false })
	readMove     = actsWith("the pod", "the node", func(r *run, pod, node string) {
		change(r, pod, "is moved to "+node, func(p *corev1.Pod) { p.Spec.NodeName = node })
	})
	readImage = actsWith("the deployment", "the image", func(r *run, name, image string) {
		change(r, name, "is updated to image "+image, func(d *appsv1.Deployment) {
			d.Spec.Template.Spec.Containers = slices.Clone(d.Spec.Template.Spec.Containers)
			d.Spec.Template.Spec.Containers[0].Image = image
			d.Generation++
		})
	})
	// readBind binds a pod as another scheduler would.
	readBind = actsWith("the pod", "the node", func(r *run, pod, node string) {
		pod = objectKey(store.Pods, pod)
		if err := r.w.API().Bind(pod, "", node); err != nil {
			r.log(err.Error())
			return
		}
		r.log(pod + " is bound to " + node + " by another scheduler")
	})
)

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

func readLoad(p *parser, w *tokens) {
	path := p.path(w, w.name("the file"))
	if w.err != nil {
		return
	}
	objects, err := informers.ReadDump([]string{path})
	if err != nil {
		w.fail(err)
	}
	var list []store.Object
	for _, o := range objects {
		if obj, ok := o.(store.Object); ok && store.KindOf(o) != "" {
			store.ApplyDefaults(obj)
			list = append(list, obj)
		}
	}
	p.addObjects(list...)
}

func readDelete(p *parser, w *tokens) {
	word := w.name("the kind")
	k, ok := objectKinds[word]
	if !ok {
		w.failf("kind %q: must be one of %s", word, strings.Join(slices.Sorted(maps.Keys(objectKinds)), ", "))
	}
	names, o := p.readNames(w, "the name"), w.options("grace=")
	grace := o.grace()
	p.addStep(func(r *run) {
		for _, n := range names {
			r.remove(k, objectKey(k, n), grace)
		}
	})
}

func readTaint(p *parser, w *tokens) {
	if len(w.list) != 2 {
		w.failf("must have a node and a taint")
	}
	name := w.name("the node")
	word, _ := w.next()
	t, err := parseTaint(word)
	if err != nil {
		w.failf("%s: must be %w", word, err)
	}
	p.addStep(func(r *run) {
		t := t
		t.TimeAdded = new(metav1.NewTime(r.w.Now()))
		change(r, name, "is tainted with "+t.ToString(), func(n *corev1.Node) {
			n.Spec.Taints = append(slices.DeleteFunc(slices.Clone(n.Spec.Taints), func(o corev1.Taint) bool { return t.MatchTaint(&o) }), t)
		})
	})
}

func readUntaint(p *parser, w *tokens) {
	if len(w.list) != 2 {
		w.failf("must have a node and the key of a taint")
	}
	name := w.name("the node")
	key, _ := w.next()
	p.addStep(func(r *run) {
		change(r, name, "is no longer tainted with "+key, func(n *corev1.Node) {
			n.Spec.Taints = slices.DeleteFunc(slices.Clone(n.Spec.Taints), func(o corev1.Taint) bool { return o.Key == key })
		})
	})
}

func readLabel(p *parser, w *tokens) {
	word := w.name("node, pod or namespace")
	k := objectKinds[word]
	if k != store.Nodes && k != store.Pods && k != store.Namespaces {
		w.failf("%q: must be node, pod or namespace", word)
	}
	name := w.name("the name")
	pairs, _ := w.next()
	labels, err := parseLabels(pairs)
	if err != nil {
		w.failf("%q: must be %w", pairs, err)
	}
	p.addStep(func(r *run) {
		r.change(k, objectKey(k, name), "is labeled "+pairs, func(o store.Object) {
			all := map[string]string{}
			maps.Copy(all, o.GetLabels())
			maps.Copy(all, labels)
			o.SetLabels(all)
		})
	})
}

func readResize(p *parser, w *tokens) {
	name, o := w.name("the node"), w.options("cpu=", "memory=", "pods=")
	resources := corev1.ResourceList{}
	for word := range o.values {
		resources[corev1.ResourceName(word)] = o.value(word).quantity()
	}
	p.addStep(func(r *run) {
		change(r, name, "is resized", func(n *corev1.Node) {
			all := n.Status.Allocatable.DeepCopy()
			maps.Copy(all, resources)
			n.Status.Allocatable, n.Status.Capacity = all, all
		})
	})
}
