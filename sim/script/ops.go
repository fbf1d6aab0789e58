package script

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berthproject/berth/informers"
	"github.com/berthproject/berth/sim/store"
)

// objectKinds are the kind names used in scenarios.
var objectKinds = map[string]store.Kind{"node": store.Nodes, "pod": store.Pods, "budget": store.PodDisruptionBudgets, "priorityclass": store.PriorityClasses,
	"namespace": store.Namespaces, "service": store.Services, "class": store.StorageClasses, "volume": store.PersistentVolumes, "claim": store.PersistentVolumeClaims,
	"deployment": store.Deployments, "replicaset": store.ReplicaSets, "statefulset": store.StatefulSets, "daemonset": store.DaemonSets}

// isNamespaced reports whether a kind is namespaced.
func isNamespaced(k store.Kind) bool {
	return k == store.Pods || k == store.PodDisruptionBudgets || k == store.Services || k == store.PersistentVolumeClaims || k == store.Deployments || k == store.ReplicaSets || k == store.StatefulSets || k == store.DaemonSets
}

// objectKey returns the key of an object; the default namespace is "default".
func objectKey(k store.Kind, name string) string {
	if isNamespaced(k) && !strings.Contains(name, "/") {
		return "default/" + name
	}
	return name
}

func readLoad(p *parser, w *tokens) error {
	file, err := w.name("the file")
	if err != nil {
		return err
	}
	if err := p.checkFile(file); err != nil {
		return err
	}
	objects, err := informers.ReadDump([]string{p.dir + "/" + file})
	if err != nil {
		return err
	}
	var list []store.Object
	for _, o := range objects {
		if obj, ok := o.(store.Object); ok && store.KindOf(o) != "" {
			store.ApplyDefaults(obj)
			list = append(list, obj)
		}
	}
	p.addObjects(list...)
	return nil
}

func readDelete(p *parser, w *tokens) error {
	word, err := w.name("the kind")
	if err != nil {
		return err
	}
	k, ok := objectKinds[word]
	if !ok {
		return fmt.Errorf("kind %q: must be one of %s", word, strings.Join(slices.Sorted(maps.Keys(objectKinds)), ", "))
	}
	name, err := w.name("the name")
	if err != nil {
		return err
	}
	names, err := p.expand(name)
	if err != nil {
		return err
	}
	o, err := w.options("grace=")
	if err != nil {
		return err
	}
	grace := o.grace()
	p.addStep(func(r *run) error {
		for _, n := range names {
			r.remove(k, objectKey(k, n), grace)
		}
		return nil
	})
	return o.err
}

// addNodeUpdate adds a step that changes a node. A missing node is ignored: it may have been
// deleted before.
func (p *parser) addNodeUpdate(w *tokens, text string, f func(*corev1.Node)) error {
	return p.addNodeUpdateAt(w, text, func(n *corev1.Node, _ time.Time) { f(n) })
}

// addNodeUpdateAt is addNodeUpdate with the current time.
func (p *parser) addNodeUpdateAt(w *tokens, text string, f func(*corev1.Node, time.Time)) error {
	name, err := w.name("the node")
	if err != nil {
		return err
	}
	p.addStep(func(r *run) error {
		return r.change(store.Nodes, name, text, func(o store.Object) {
			if n, ok := o.(*corev1.Node); ok {
				f(n, r.w.Now())
			}
		})
	})
	return nil
}

func readTaint(p *parser, w *tokens) error {
	if len(w.list) != 2 {
		return errors.New("must have a node and a taint")
	}
	t, err := parseTaint(w.list[1])
	if err != nil {
		return fmt.Errorf("%s: must be %w", w.list[1], err)
	}
	err = p.addNodeUpdateAt(w, "is tainted with "+t.ToString(), func(n *corev1.Node, now time.Time) {
		at := metav1.NewTime(now)
		t := t
		t.TimeAdded = &at
		n.Spec.Taints = append(slices.DeleteFunc(slices.Clone(n.Spec.Taints), func(o corev1.Taint) bool { return o.Key == t.Key && o.Effect == t.Effect }), t)
	})
	_, _ = w.next()
	return err
}

func readUntaint(p *parser, w *tokens) error {
	if len(w.list) != 2 {
		return errors.New("must have a node and the key of a taint")
	}
	taint := w.list[1]
	err := p.addNodeUpdate(w, "is no longer tainted with "+taint, func(n *corev1.Node) {
		n.Spec.Taints = slices.DeleteFunc(slices.Clone(n.Spec.Taints), func(o corev1.Taint) bool { return o.Key == taint })
	})
	_, _ = w.next()
	return err
}

func readCordon(cordon bool) func(*parser, *tokens) error {
	text := "is uncordoned"
	if cordon {
		text = "is cordoned"
	}
	return func(p *parser, w *tokens) error {
		return p.addNodeUpdate(w, text, func(n *corev1.Node) { n.Spec.Unschedulable = cordon })
	}
}

func readLabel(p *parser, w *tokens) error {
	word, err := w.name("node, pod or namespace")
	if err != nil {
		return err
	}
	k := objectKinds[word]
	if k != store.Nodes && k != store.Pods && k != store.Namespaces {
		return fmt.Errorf("%q: must be node, pod or namespace", word)
	}
	name, err := w.name("the name")
	if err != nil {
		return err
	}
	pairs, _ := w.next()
	labels, err := parseLabels(pairs)
	if err != nil {
		return fmt.Errorf("%q: must be %w", pairs, err)
	}
	p.addStep(func(r *run) error {
		return r.change(k, objectKey(k, name), "is labeled "+pairs, func(o store.Object) {
			all := maps.Clone(o.GetLabels())
			if all == nil {
				all = map[string]string{}
			}
			maps.Copy(all, labels)
			o.SetLabels(all)
		})
	})
	return nil
}

func readResize(p *parser, w *tokens) error {
	name, err := w.name("the node")
	if err != nil {
		return err
	}
	o, err := w.options("cpu=", "memory=", "pods=")
	if err != nil {
		return err
	}
	resources := corev1.ResourceList{}
	for _, word := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourcePods} {
		if o.has(string(word)) {
			resources[word] = o.quantity(string(word), "")
		}
	}
	w.list = []string{name}
	if o.err != nil {
		return o.err
	}
	return p.addNodeUpdate(w, "is resized", func(n *corev1.Node) {
		all := n.Status.Allocatable.DeepCopy()
		maps.Copy(all, resources)
		n.Status.Allocatable, n.Status.Capacity = all, all
	})
}
