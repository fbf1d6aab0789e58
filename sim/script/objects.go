package script

import (
	"cmp"
	"errors"
	"strings"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/berthproject/berth/engine/nodepressure/usage"
	"github.com/berthproject/berth/sim/store"
)

// addObjects adds a step that creates objects.
func (p *parser) addObjects(objects ...store.Object) {
	p.addStep(func(r *run) {
		for _, o := range objects {
			if r.create(o); r.err != nil {
				return
			}
		}
	})
}

// addNamedObjects reads a name or range and adds a step that creates an object for each.
func (p *parser) addNamedObjects(w *tokens, kind string, accepted []string, newObject func(name string, o *options) store.Object) {
	names, o := p.readNames(w, "the name of the "+kind), w.options(accepted...)
	var objects []store.Object
	for _, n := range names {
		if w.checkName(n); w.err != nil {
			return
		}
		objects = append(objects, newObject(n, o))
	}
	p.addObjects(objects...)
}

// metadata returns the metadata of a namespaced object.
func (o *options) metadata(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: cmp.Or(o.values["ns"], metav1.NamespaceDefault), Name: name}
}

func readNode(p *parser, w *tokens) {
	accepted := []string{"cpu=", "memory=", "pods=", "storage=", "res=", "labels=", "taints=", "unschedulable", "joining", "allocatable=", "usage=", "capacity="}
	p.addNamedObjects(w, "node", accepted, func(name string, o *options) store.Object {
		n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: o.labels("labels")}}
		n.Status.Capacity = corev1.ResourceList{
			corev1.ResourceCPU: o.quantity("cpu", "4"), corev1.ResourceMemory: o.quantity("memory", "8Gi"), corev1.ResourcePods: o.quantity("pods", "110"),
		}
		if o.has("storage") {
			n.Status.Capacity[corev1.ResourceEphemeralStorage] = o.quantity("storage", "0")
		}
		o.resources("res", n.Status.Capacity)
		for _, s := range o.list("taints") {
			t, err := parseTaint(s)
			if err != nil {
				o.invalid("taints", err.Error())
			}
			n.Spec.Taints = append(n.Spec.Taints, t)
		}
		n.Spec.Unschedulable = o.has("unschedulable")
		n.Annotations = o.usageAnnotation(usage.ParseNode)
		if c, ok := o.values["capacity"]; ok {
			if _, err := usage.ParseCapacity(c, 1, 1, 1); err != nil {
				o.invalid("capacity", err.Error())
			}
			n.Annotations = map[string]string{usage.Annotation: n.Annotations[usage.Annotation], usage.CapacityAnnotation: c}
		}
		if o.has("allocatable") {
			n.Status.Allocatable = n.Status.Capacity.DeepCopy()
			n.Status.Allocatable[corev1.ResourceMemory] = o.quantity("allocatable", "")
		}
		store.ApplyDefaults(n)
		if o.has("joining") {
			store.MarkJoining(n)
		}
		return n
	})
}

// resources reads resources such as a=1,b=2 into list.
func (o *options) resources(key string, list corev1.ResourceList) {
	for _, pair := range o.list(key) {
		name, amount, _ := strings.Cut(pair, "=")
		o.values["res "+name] = amount
		list[corev1.ResourceName(name)] = o.quantity("res "+name, "")
	}
}

func parseTaint(s string) (corev1.Taint, error) {
	pair, effect, _ := strings.Cut(s, ":")
	k, v, _ := strings.Cut(pair, "=")
	e := corev1.TaintEffect(effect)
	if k == "" || e != corev1.TaintEffectNoSchedule && e != corev1.TaintEffectPreferNoSchedule && e != corev1.TaintEffectNoExecute {
		return corev1.Taint{}, errors.New("key[=value]:EFFECT, with effect NoSchedule, PreferNoSchedule or NoExecute")
	}
	return corev1.Taint{Key: k, Value: v, Effect: e}, nil
}

func readBudget(p *parser, w *tokens) {
	accepted := []string{"match=", "minAvailable=", "maxUnavailable=", "always", "ns="}
	p.addNamedObjects(w, "budget", accepted, func(name string, o *options) store.Object {
		b := &policyv1.PodDisruptionBudget{ObjectMeta: o.metadata(name)}
		b.Generation = 1
		b.Spec.Selector = &metav1.LabelSelector{MatchLabels: o.labels("match")}
		if o.has("always") {
			b.Spec.UnhealthyPodEvictionPolicy = new(policyv1.AlwaysAllow)
		}
		amount := func(key string) *intstr.IntOrString {
			if !o.has(key) {
				return nil
			}
			v := intstr.Parse(o.values[key])
			if n, err := intstr.GetScaledValueFromIntOrPercent(&v, 100, true); err != nil || n < 0 {
				o.invalid(key, "a number or a percentage")
			}
			return &v
		}
		b.Spec.MinAvailable, b.Spec.MaxUnavailable = amount("minAvailable"), amount("maxUnavailable")
		if (b.Spec.MinAvailable == nil) == (b.Spec.MaxUnavailable == nil) {
			o.failf("must have exactly one of minAvailable= and maxUnavailable=")
		}
		return b
	})
}

func readPriorityClass(p *parser, w *tokens) {
	p.addNamedObjects(w, "priority class", []string{"value=", "never", "default"}, func(name string, o *options) store.Object {
		c := &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Value: int32(o.number("value", 0, -1<<31, 1<<31-1)), GlobalDefault: o.has("default")}
		if o.has("never") {
			c.PreemptionPolicy = new(corev1.PreemptNever)
		}
		return c
	})
}

func readNamespace(p *parser, w *tokens) {
	p.addNamedObjects(w, "namespace", []string{"labels="}, func(name string, o *options) store.Object {
		return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: o.labels("labels")}}
	})
}

func readService(p *parser, w *tokens) {
	p.addNamedObjects(w, "service", []string{"match=", "ns="}, func(name string, o *options) store.Object {
		return &corev1.Service{ObjectMeta: o.metadata(name), Spec: corev1.ServiceSpec{Selector: o.labels("match"), IPFamilies: []corev1.IPFamily{corev1.IPv4Protocol}}}
	})
}
