package script

import (
	"cmp"
	"errors"
	"strings"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/berthproject/berth/engine/nodepressure/usage"
	"github.com/berthproject/berth/sim/store"
)

// creates returns the reader of a line that creates an object for each name. newLine returns the T whose fields the words
// set, and object the object that follows.
func creates[T any](kind string, table words[T], newLine func(name string) T, object func(T, *tokens) store.Object) func(*parser, *tokens) {
	return func(p *parser, w *tokens) {
		names, set := p.readNames(w, "the name of the "+kind), table.read(w)
		var objects []store.Object
		for _, n := range names {
			if problems := validation.IsDNS1123Subdomain(n); len(problems) > 0 {
				w.failf("invalid name %q: %s", n, problems[0])
			}
			if w.err != nil {
				return
			}
			line := newLine(n)
			set(line)
			objects = append(objects, object(line, w))
		}
		p.addObjects(objects...)
	}
}

// createsLike is creates for objects that have the fields of an example besides those that the words set. check may be nil.
func createsLike[T store.Object](kind string, example T, table words[T], check func(T, *tokens)) func(*parser, *tokens) {
	newLine := func(name string) T {
		o, _ := example.DeepCopyObject().(T)
		if o.SetName(name); store.IsNamespaced(store.KindOf(o)) {
			o.SetNamespace(metav1.NamespaceDefault)
		}
		return o
	}
	return creates(kind, table, newLine, func(o T, w *tokens) store.Object {
		if check != nil {
			check(o, w)
		}
		store.ApplyDefaults(o)
		return o
	})
}

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

// setNamespace is the word ns.
func setNamespace[T store.Object](o T, v value) {
	o.SetNamespace(cmp.Or(v.text, metav1.NamespaceDefault))
}

var readNode = createsLike("node", &corev1.Node{Status: corev1.NodeStatus{Capacity: corev1.ResourceList{
	corev1.ResourceCPU: resource.MustParse("4"), corev1.ResourceMemory: resource.MustParse("8Gi"), corev1.ResourcePods: resource.MustParse("110"),
}}}, words[*corev1.Node]{
	{"cpu=", setCapacity(corev1.ResourceCPU)},
	{"memory=", setCapacity(corev1.ResourceMemory)},
	{"pods=", setCapacity(corev1.ResourcePods)},
	{"storage=", setCapacity(corev1.ResourceEphemeralStorage)},
	{"res=", func(n *corev1.Node, v value) { v.resources(n.Status.Capacity) }},
	{"labels=", func(n *corev1.Node, v value) { n.Labels = v.labels() }},
	{"taints=", func(n *corev1.Node, v value) { n.Spec.Taints = v.taints() }},
	{"unschedulable", func(n *corev1.Node, _ value) { n.Spec.Unschedulable = true }},
	{"joining", func(n *corev1.Node, _ value) { store.MarkJoining(n) }},
	{"allocatable=", func(n *corev1.Node, v value) {
		n.Status.Allocatable = n.Status.Capacity.DeepCopy()
		n.Status.Allocatable[corev1.ResourceMemory] = v.quantity()
	}},
	{"usage=", func(n *corev1.Node, v value) {
		_, err := usage.ParseNode(v.text)
		v.annotate(&n.ObjectMeta, usage.Annotation, err)
	}},
	{"capacity=", func(n *corev1.Node, v value) {
		_, err := usage.ParseCapacity(v.text, 1, 1, 1)
		v.annotate(&n.ObjectMeta, usage.CapacityAnnotation, err)
	}},
}, nil)

func setCapacity(name corev1.ResourceName) func(*corev1.Node, value) {
	return func(n *corev1.Node, v value) { n.Status.Capacity[name] = v.quantity() }
}

func (v value) taints() (out []corev1.Taint) {
	for _, s := range v.list() {
		t, err := parseTaint(s)
		if err != nil {
			v.invalid(err.Error())
		}
		out = append(out, t)
	}
	return out
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

var readBudget = createsLike("budget", &policyv1.PodDisruptionBudget{
	ObjectMeta: metav1.ObjectMeta{Generation: 1}, Spec: policyv1.PodDisruptionBudgetSpec{Selector: &metav1.LabelSelector{}},
}, words[*policyv1.PodDisruptionBudget]{
	{"match=", func(b *policyv1.PodDisruptionBudget, v value) { b.Spec.Selector.MatchLabels = v.labels() }},
	{"minAvailable=", func(b *policyv1.PodDisruptionBudget, v value) { b.Spec.MinAvailable = v.amount() }},
	{"maxUnavailable=", func(b *policyv1.PodDisruptionBudget, v value) { b.Spec.MaxUnavailable = v.amount() }},
	{"always", func(b *policyv1.PodDisruptionBudget, _ value) {
		b.Spec.UnhealthyPodEvictionPolicy = new(policyv1.AlwaysAllow)
	}},
	{"ns=", setNamespace[*policyv1.PodDisruptionBudget]},
}, func(b *policyv1.PodDisruptionBudget, w *tokens) {
	if (b.Spec.MinAvailable == nil) == (b.Spec.MaxUnavailable == nil) {
		w.failf("must have exactly one of minAvailable= and maxUnavailable=")
	}
})

// amount reads a number or a percentage.
func (v value) amount() *intstr.IntOrString {
	n := intstr.Parse(v.text)
	if scaled, err := intstr.GetScaledValueFromIntOrPercent(&n, 100, true); err != nil || scaled < 0 {
		v.invalid("a number or a percentage")
	}
	return &n
}

var readPriorityClass = createsLike("priority class", &schedulingv1.PriorityClass{}, words[*schedulingv1.PriorityClass]{
	{"value=", func(c *schedulingv1.PriorityClass, v value) { c.Value = int32(v.number(-1<<31, 1<<31-1)) }},
	{"never", func(c *schedulingv1.PriorityClass, _ value) { c.PreemptionPolicy = new(corev1.PreemptNever) }},
	{"default", func(c *schedulingv1.PriorityClass, _ value) { c.GlobalDefault = true }},
}, nil)

var readNamespace = createsLike("namespace", &corev1.Namespace{}, words[*corev1.Namespace]{
	{"labels=", func(n *corev1.Namespace, v value) { n.Labels = v.labels() }},
}, nil)

var readService = createsLike("service", &corev1.Service{Spec: corev1.ServiceSpec{IPFamilies: []corev1.IPFamily{corev1.IPv4Protocol}}}, words[*corev1.Service]{
	{"match=", func(s *corev1.Service, v value) { s.Spec.Selector = v.labels() }},
	{"ns=", setNamespace[*corev1.Service]},
}, nil)

var readClass = createsLike("storage class", &storagev1.StorageClass{
	Provisioner: "kubernetes.io/no-provisioner", VolumeBindingMode: new(storagev1.VolumeBindingImmediate),
}, words[*storagev1.StorageClass]{
	{"provisioner=", func(c *storagev1.StorageClass, v value) { c.Provisioner = cmp.Or(v.text, c.Provisioner) }},
	{"wait", func(c *storagev1.StorageClass, _ value) {
		c.VolumeBindingMode = new(storagev1.VolumeBindingWaitForFirstConsumer)
	}},
}, nil)

// defaultVolume is the size of a volume and a claim without the word size.
var defaultVolume = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("10Gi")}

var readVolume = createsLike("volume", &corev1.PersistentVolume{
	Spec:   corev1.PersistentVolumeSpec{Capacity: defaultVolume, AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}},
	Status: corev1.PersistentVolumeStatus{Phase: corev1.VolumeAvailable},
}, words[*corev1.PersistentVolume]{
	{"size=", func(o *corev1.PersistentVolume, v value) { o.Spec.Capacity[corev1.ResourceStorage] = v.quantity() }},
	{"class=", func(o *corev1.PersistentVolume, v value) { o.Spec.StorageClassName = v.text }},
	{"node=", func(o *corev1.PersistentVolume, v value) {
		if v.text != "" {
			o.Spec.NodeAffinity = &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{labelTerm(corev1.LabelHostname, v.text)}}}
		}
	}},
}, nil)

// labelTerm returns a term that selects the nodes with a label.
func labelTerm(key, value string) corev1.NodeSelectorTerm {
	return corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{{Key: key, Operator: corev1.NodeSelectorOpIn, Values: []string{value}}}}
}

var readClaim = createsLike("claim", &corev1.PersistentVolumeClaim{
	Spec: corev1.PersistentVolumeClaimSpec{StorageClassName: new(""), AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
		Resources: corev1.VolumeResourceRequirements{Requests: defaultVolume}},
	Status: corev1.PersistentVolumeClaimStatus{Phase: corev1.ClaimPending},
}, words[*corev1.PersistentVolumeClaim]{
	{"size=", func(c *corev1.PersistentVolumeClaim, v value) {
		c.Spec.Resources.Requests[corev1.ResourceStorage] = v.quantity()
	}},
	{"class=", func(c *corev1.PersistentVolumeClaim, v value) { c.Spec.StorageClassName = &v.text }},
	{"ns=", setNamespace[*corev1.PersistentVolumeClaim]},
}, nil)
