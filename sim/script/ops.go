package script

import (
	"maps"
	"slices"
	"strings"

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
	names := p.readNames(w, "the name")
	grace := w.options("grace=").grace()
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
			n.Spec.Taints = append(slices.DeleteFunc(slices.Clone(n.Spec.Taints), func(o corev1.Taint) bool { return o.Key == t.Key && o.Effect == t.Effect }), t)
		})
	})
}

func readUntaint(p *parser, w *tokens) {
	if len(w.list) != 2 {
		w.failf("must have a node and the key of a taint")
	}
	name := w.name("the node")
	taint, _ := w.next()
	p.addStep(func(r *run) {
		change(r, name, "is no longer tainted with "+taint, func(n *corev1.Node) {
			n.Spec.Taints = slices.DeleteFunc(slices.Clone(n.Spec.Taints), func(o corev1.Taint) bool { return o.Key == taint })
		})
	})
}

// readCordon returns a reader that cordons or uncordons a node.
func readCordon(cordon bool, text string) func(*parser, *tokens) {
	return func(p *parser, w *tokens) {
		name := w.name("the node")
		p.addStep(func(r *run) { change(r, name, text, func(n *corev1.Node) { n.Spec.Unschedulable = cordon }) })
	}
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
		resources[corev1.ResourceName(word)] = o.quantity(word, "")
	}
	p.addStep(func(r *run) {
		change(r, name, "is resized", func(n *corev1.Node) {
			all := n.Status.Allocatable.DeepCopy()
			maps.Copy(all, resources)
			n.Status.Allocatable, n.Status.Capacity = all, all
		})
	})
}
