package conformance_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	scheduling "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	"k8s.io/component-helpers/storage/volume"
	"k8s.io/klog/v2"

	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/placement"
	"github.com/berthproject/berth/engine/placement/framework"
	"github.com/berthproject/berth/internal/conversion"
)

// The tests in this file compare single plugins with the libraries that the plugins of kube-scheduler use, on
// random input, which includes malformed input.

// randomObjects creates random objects from a few words, so that they often match.
type randomObjects struct{ *rand.Rand }

func (d randomObjects) pick(words ...string) string { return words[d.IntN(len(words))] }

func (d randomObjects) labels() map[string]string {
	out := map[string]string{}
	for _, k := range []string{"a", "b", "c"} {
		if d.IntN(3) > 0 {
			out[k] = d.pick("1", "2", "3", "x")
		}
	}
	return out
}

// requirements returns requirements on fields of a node, or on its labels.
func (d randomObjects) requirements(fields bool) []corev1.NodeSelectorRequirement {
	var out []corev1.NodeSelectorRequirement
	for range d.IntN(3) {
		r := corev1.NodeSelectorRequirement{Key: d.pick("a", "b", "c"), Operator: corev1.NodeSelectorOperator(d.pick("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"))}
		if fields {
			r.Key, r.Operator = "metadata.name", corev1.NodeSelectorOperator(d.pick("In", "In", "NotIn"))
		}
		if d.IntN(20) == 0 {
			r.Operator = "Near"
		}
		values := map[bool][]string{false: {"1", "2", "3", "x"}, true: {"n0", "n1", "n2"}}[fields]
		n := 1
		switch {
		case r.Operator == "Exists" || r.Operator == "DoesNotExist":
			n = 0
		case d.IntN(10) == 0:
			n = d.IntN(3)
		}
		for range n {
			r.Values = append(r.Values, d.pick(values...))
		}
		out = append(out, r)
	}
	return out
}

func (d randomObjects) term() corev1.NodeSelectorTerm {
	t := corev1.NodeSelectorTerm{MatchExpressions: d.requirements(false)}
	if d.IntN(3) == 0 {
		t.MatchFields = d.requirements(true)
	}
	return t
}

func (d randomObjects) nodes() []*corev1.Node {
	var out []*corev1.Node
	for i := range 3 {
		n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("n", i), Labels: d.labels()}}
		for range d.IntN(3) {
			n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{
				Key: d.pick("k", "l"), Value: d.pick("", "1", "7", "07", "x"), Effect: corev1.TaintEffect(d.pick("NoSchedule", "NoExecute", "PreferNoSchedule")),
			})
		}
		out = append(out, n)
	}
	return out
}

// feasibleNodes evaluates a pod with one plugin and returns the feasible nodes. numeric enables the operators Gt
// and Lt of tolerations.
func feasibleNodes(t *testing.T, plugin decision.Plugin, pod *corev1.Pod, numeric bool, nodes []*corev1.Node, objects ...runtime.Object) []string {
	t.Helper()
	profile, err := framework.NewProfile(framework.Config{
		Name: "default-scheduler", Filter: []decision.Plugin{plugin}, NumericTolerations: numeric,
		Spread: framework.SpreadArgs{SystemDefaulting: true},
	})
	if err != nil {
		t.Fatal(err)
	}
	converter := conversion.New()
	for _, n := range nodes {
		objects = append(objects, n)
	}
	state, _, _ := converter.Snapshot(objects)
	record := placement.Evaluate(state, profile, seed, converter.Pod(pod))
	var out []string
	for i := range record.Nodes {
		if record.Nodes[i].Verdict.IsSuccess() {
			out = append(out, record.Nodes[i].Name)
		}
	}
	return out
}

// TestNodeAffinityAgreesWithLibrary compares the plugin NodeAffinity with package nodeaffinity.
func TestNodeAffinityAgreesWithLibrary(t *testing.T) {
	d := randomObjects{rand.New(rand.NewPCG(1, 1))}
	for round := range 3000 {
		nodes := d.nodes()
		pod := &corev1.Pod{}
		if d.IntN(3) == 0 {
			pod.Spec.NodeSelector = map[string]string{d.pick("a", "b"): d.pick("1", "2")}
		}
		required := &corev1.NodeSelector{}
		for range d.IntN(4) {
			required.NodeSelectorTerms = append(required.NodeSelectorTerms, d.term())
		}
		pod.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: required}}
		var want []string
		for _, n := range nodes {
			if ok, _ := nodeaffinity.GetRequiredNodeAffinity(pod).Match(n); ok {
				want = append(want, n.Name)
			}
		}
		if got := feasibleNodes(t, decision.NodeAffinity, pod, false, nodes); !slices.Equal(got, want) {
			t.Fatalf("round %d: got %v, want %v\n%+v\n%+v", round, got, want, required, nodes)
		}
	}
}

// TestTolerationsAgreeWithLibrary compares the plugin TaintToleration with package scheduling/corev1.
func TestTolerationsAgreeWithLibrary(t *testing.T) {
	d := randomObjects{rand.New(rand.NewPCG(2, 2))}
	for round := range 3000 {
		nodes := d.nodes()
		pod := &corev1.Pod{}
		for range d.IntN(3) {
			pod.Spec.Tolerations = append(pod.Spec.Tolerations, corev1.Toleration{
				Key: d.pick("", "k", "l"), Value: d.pick("", "1", "7", "07", "x"),
				Operator: corev1.TolerationOperator(d.pick("", "Equal", "Exists", "Gt", "Lt", "Near")),
				Effect:   corev1.TaintEffect(d.pick("", "", "NoSchedule", "NoExecute", "PreferNoSchedule", "NoEntry")),
			})
		}
		numeric := d.IntN(2) == 0
		var want []string
		for _, n := range nodes {
			hard := func(t *corev1.Taint) bool { return t.Effect != corev1.TaintEffectPreferNoSchedule }
			if _, rejected := scheduling.FindMatchingUntoleratedTaint(klog.Logger{}, n.Spec.Taints, pod.Spec.Tolerations, hard, numeric); !rejected {
				want = append(want, n.Name)
			}
		}
		if got := feasibleNodes(t, decision.TaintToleration, pod, numeric, nodes); !slices.Equal(got, want) {
			t.Fatalf("round %d: got %v, want %v\n%+v\n%+v", round, got, want, pod.Spec.Tolerations, nodes)
		}
	}
}

// volumes returns volumes, most of the class manual.
func (d randomObjects) volumes() (out []*corev1.PersistentVolume) {
	for i := range 2 + d.IntN(6) {
		v := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("v", i), Labels: d.labels()}}
		v.Spec.StorageClassName = d.pick("manual", "manual", "manual", "other")
		v.Spec.Capacity = corev1.ResourceList{corev1.ResourceStorage: *resource.NewQuantity(int64(d.IntN(5)), resource.BinarySI)}
		v.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce, corev1.PersistentVolumeAccessMode(d.pick("ReadOnlyMany", "ReadWriteMany"))}
		v.Status.Phase = corev1.PersistentVolumePhase(d.pick("Available", "Available", "Available", "Released", "Pending"))
		if d.IntN(4) == 0 {
			mode := corev1.PersistentVolumeBlock
			v.Spec.VolumeMode = &mode
		}
		if d.IntN(4) == 0 {
			v.Spec.ClaimRef = &corev1.ObjectReference{Namespace: "default", Name: d.pick("c0", "c1")}
			v.Spec.ClaimRef.UID = types.UID(d.pick("", "c0", "c1"))
		}
		if d.IntN(2) == 0 {
			v.Spec.NodeAffinity = &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{d.term()}}}
		}
		out = append(out, v)
	}
	return out
}

// claims returns two unbound claims of the class manual.
func (d randomObjects) claims() (out []*corev1.PersistentVolumeClaim) {
	class := "manual"
	for i := range 2 {
		c := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: fmt.Sprint("c", i), UID: types.UID(fmt.Sprint("c", i))}}
		c.Spec.StorageClassName = &class
		c.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceStorage: *resource.NewQuantity(int64(d.IntN(4)), resource.BinarySI)}
		c.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.PersistentVolumeAccessMode(d.pick("ReadWriteOnce", "ReadWriteOnce", "ReadOnlyMany"))}
		if d.IntN(3) == 0 {
			c.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{d.pick("a", "b"): d.pick("1", "2")}}
		}
		out = append(out, c)
	}
	return out
}

// claimsMatch reports whether the library finds a separate volume on a node for each claim.
func claimsMatch(t *testing.T, claims []*corev1.PersistentVolumeClaim, volumes []*corev1.PersistentVolume, n *corev1.Node) bool {
	t.Helper()
	claims = slices.Clone(claims)
	size := func(c *corev1.PersistentVolumeClaim) int64 { return c.Spec.Resources.Requests.Storage().Value() }
	slices.SortStableFunc(claims, func(a, b *corev1.PersistentVolumeClaim) int { return cmp.Compare(size(a), size(b)) })
	bound := map[string]*corev1.PersistentVolume{}
	for _, c := range claims {
		v, err := volume.FindMatchingVolume(c, volumes, n, bound, true, true)
		if err != nil {
			t.Fatal(err)
		}
		if v == nil {
			return false
		}
		bound[v.Name] = v
	}
	return true
}

// TestVolumeMatchingAgreesWithLibrary compares the plugin VolumeBinding with package storage/volume.
func TestVolumeMatchingAgreesWithLibrary(t *testing.T) {
	d := randomObjects{rand.New(rand.NewPCG(3, 3))}
	waitForConsumer := storagev1.VolumeBindingWaitForFirstConsumer
	class := &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: "manual"}, Provisioner: volume.NotSupportedProvisioner, VolumeBindingMode: &waitForConsumer}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "p", UID: "p"}}
	for _, name := range []string{"c0", "c1"} {
		pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: name}}})
	}
	passed := 0
	for round := range 5000 {
		nodes, volumes, claims := d.nodes(), d.volumes(), d.claims()
		objects := []runtime.Object{class}
		var classVolumes []*corev1.PersistentVolume
		for _, v := range volumes {
			objects = append(objects, v)
			if v.Spec.StorageClassName == class.Name {
				classVolumes = append(classVolumes, v)
			}
		}
		for _, c := range claims {
			objects = append(objects, c)
		}
		var want []string
		for _, n := range nodes {
			if claimsMatch(t, claims, classVolumes, n) {
				want = append(want, n.Name)
				passed++
			}
		}
		if got := feasibleNodes(t, decision.VolumeBinding, pod, false, nodes, objects...); !slices.Equal(got, want) {
			t.Fatalf("round %d: got %v, want %v\n%+v\n%+v\n%+v", round, got, want, claims, volumes, nodes)
		}
	}
	if passed < 500 {
		t.Errorf("%d nodes are feasible, want at least 500 to cover enough cases", passed)
	}
}
