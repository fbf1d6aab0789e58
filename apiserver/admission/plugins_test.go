package admission

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/admission"
)

func TestOrderHasEveryPlugin(t *testing.T) {
	plugins := admission.NewPlugins()
	Register(plugins, DefaultNodeTolerationSeconds())
	registered, order := plugins.Registered(), slices.Clone(Order)
	slices.Sort(registered)
	slices.Sort(order)
	if !slices.Equal(registered, order) {
		t.Errorf("got registered plugins %v, want those of Order %v", registered, order)
	}
}

func TestNewNodesAreTainted(t *testing.T) {
	for name, taints := range map[string][]corev1.Taint{
		"no taint":       nil,
		"existing taint": {{Key: corev1.TaintNodeNotReady, Effect: corev1.TaintEffectNoSchedule}},
		"other effect":   {{Key: corev1.TaintNodeNotReady, Effect: corev1.TaintEffectNoExecute}},
	} {
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}, Spec: corev1.NodeSpec{Taints: taints}}
		admit(t, newNodeTaint(), create(corev1.Resource("nodes"), node))
		count := 0
		for _, taint := range node.Spec.Taints {
			if taint.Key == corev1.TaintNodeNotReady && taint.Effect == corev1.TaintEffectNoSchedule {
				count++
			}
		}
		if count != 1 {
			t.Errorf("%s: got taints %v, want one not-ready taint with NoSchedule", name, node.Spec.Taints)
		}
	}
}

func TestDefaultTolerationsAreAdded(t *testing.T) {
	for name, tc := range map[string]struct {
		existing []corev1.Toleration
		added    int
	}{
		"no toleration":             {added: 2},
		"toleration of every taint": {existing: []corev1.Toleration{{Operator: corev1.TolerationOpExists}}},
		"toleration of one taint":   {existing: []corev1.Toleration{{Key: corev1.TaintNodeNotReady, Effect: corev1.TaintEffectNoExecute}}, added: 1},
		"other effect":              {existing: []corev1.Toleration{{Key: corev1.TaintNodeNotReady, Effect: corev1.TaintEffectNoSchedule}}, added: 2},
	} {
		pod := podOf(func(p *corev1.Pod) { p.Spec.Tolerations = slices.Clone(tc.existing) })
		admit(t, newDefaultTolerations(NodeTolerationSeconds{NotReady: 7, Unreachable: 9}), create(corev1.Resource("pods"), pod))
		if got := len(pod.Spec.Tolerations) - len(tc.existing); got != tc.added {
			t.Errorf("%s: got %d new tolerations, want %d", name, got, tc.added)
		}
		for _, added := range pod.Spec.Tolerations[len(tc.existing):] {
			if want := map[string]int64{corev1.TaintNodeNotReady: 7, corev1.TaintNodeUnreachable: 9}[added.Key]; *added.TolerationSeconds != want {
				t.Errorf("%s: toleration of %s: got %d s, want %d s", name, added.Key, *added.TolerationSeconds, want)
			}
		}
	}
}

func TestBindingGetsTopologyLabels(t *testing.T) {
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", Labels: map[string]string{corev1.LabelTopologyZone: "z", corev1.LabelHostname: "h"}}}
	plugin := initialize(t, newPodTopologyLabels(), node)
	for target, want := range map[string]string{"n": "z", "missing": "", "No_Name": ""} {
		binding := &corev1.Binding{ObjectMeta: metav1.ObjectMeta{Name: "p", Namespace: "ns"}, Target: corev1.ObjectReference{Kind: "Node", Name: target}}
		if rejection := admit(t, plugin, request(admission.Create, corev1.Resource("pods"), "binding", binding, nil)); rejection != "" {
			t.Errorf("binding to %s: got rejection %q, want none", target, rejection)
		}
		if got := binding.Labels[corev1.LabelTopologyZone]; got != want || binding.Labels[corev1.LabelHostname] != "" {
			t.Errorf("binding to %s: got labels %v, want zone %q", target, binding.Labels, want)
		}
	}
}

func TestStoragePluginsApplyToClaims(t *testing.T) {
	class := &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: "s", Annotations: map[string]string{"storageclass.kubernetes.io/is-default-class": "true"}}, AllowVolumeExpansion: ptr(true)}
	fixed := &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: "fixed"}}
	claims := corev1.Resource("persistentvolumeclaims")
	claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: "c", Namespace: "ns"}}
	admit(t, initialize(t, newDefaultStorageClass(), class, fixed), create(claims, claim))
	admit(t, newStorageObjectInUseProtection(), create(claims, claim))
	if claim.Spec.StorageClassName == nil || *claim.Spec.StorageClassName != "s" || !slices.Equal(claim.Finalizers, []string{claimProtection}) {
		t.Errorf("got class %v, finalizers %v, want the default class and the protection finalizer", claim.Spec.StorageClassName, claim.Finalizers)
	}
	for name, want := range map[string]string{"s": "", "fixed": "only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must support resize"} {
		old := claim.DeepCopy()
		old.Spec.StorageClassName, old.Status.Phase = &name, corev1.ClaimBound
		updated := old.DeepCopy()
		updated.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("2Gi")}
		if got := admit(t, initialize(t, newPersistentVolumeClaimResize(), class, fixed), request(admission.Update, claims, "", updated, old)); got != want {
			t.Errorf("expansion of a claim of class %s: got rejection %q, want %q", name, got, want)
		}
	}
}

func TestServiceAccountIsSetInPods(t *testing.T) {
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "default", Namespace: "ns"}, ImagePullSecrets: []corev1.LocalObjectReference{{Name: "pull"}}}
	plugin := initialize(t, newServiceAccount(), account)
	pod := podOf(nil)
	if got := admit(t, plugin, create(corev1.Resource("pods"), pod)); got != "" {
		t.Fatalf("got rejection %q, want none", got)
	}
	if pod.Spec.ServiceAccountName != "default" || len(pod.Spec.ImagePullSecrets) != 1 || len(pod.Spec.Volumes) != 1 ||
		!strings.HasPrefix(pod.Spec.Volumes[0].Name, tokenVolumePrefix) || pod.Spec.Containers[0].VolumeMounts[0].MountPath != tokenPath {
		t.Errorf("got pod %+v, want the default account, its pull secret and its token", pod.Spec)
	}
	noToken := podOf(func(p *corev1.Pod) { p.Spec.AutomountServiceAccountToken = ptr(false) })
	admit(t, plugin, create(corev1.Resource("pods"), noToken))
	if len(noToken.Spec.Volumes) != 0 {
		t.Errorf("volumes of a pod without a token: got %+v, want none", noToken.Spec.Volumes)
	}
	unknown := podOf(func(p *corev1.Pod) { p.Spec.ServiceAccountName = "none" })
	if got, want := admit(t, plugin, create(corev1.Resource("pods"), unknown)), `error looking up service account ns/none: serviceaccounts "none" not found`; got != want {
		t.Errorf("unknown account: got rejection %q, want %q", got, want)
	}
	mirror := podOf(func(p *corev1.Pod) { p.Annotations = map[string]string{corev1.MirrorPodAnnotationKey: "x"} })
	if got := admit(t, plugin, create(corev1.Resource("pods"), mirror)); got != "" || mirror.Spec.ServiceAccountName != "" {
		t.Errorf("mirror pod: got rejection %q, account %q, want neither", got, mirror.Spec.ServiceAccountName)
	}
}

func TestRuntimeClassIsAppliedToPods(t *testing.T) {
	overhead := corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("100m")}
	class := &nodev1.RuntimeClass{ObjectMeta: metav1.ObjectMeta{Name: "vm"}, Overhead: &nodev1.Overhead{PodFixed: overhead},
		Scheduling: &nodev1.Scheduling{NodeSelector: map[string]string{"vm": "yes"}, Tolerations: []corev1.Toleration{{Key: "vm"}}}}
	plugin := initialize(t, newRuntimeClass(), class)
	for name, tc := range map[string]struct {
		pod  func(*corev1.Pod)
		want string
	}{
		"class":         {pod: func(p *corev1.Pod) { p.Spec.RuntimeClassName = ptr("vm") }},
		"no class":      {},
		"unknown class": {pod: func(p *corev1.Pod) { p.Spec.RuntimeClassName = ptr("x") }, want: `pod rejected: RuntimeClass "x" not found`},
		"overhead only": {pod: func(p *corev1.Pod) { p.Spec.Overhead = overhead }, want: "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead"},
		"conflicting node selector": {pod: func(p *corev1.Pod) {
			p.Spec.RuntimeClassName, p.Spec.NodeSelector = ptr("vm"), map[string]string{"vm": "no"}
		},
			want: "conflict: runtimeClass.Scheduling.NodeSelector[vm] = yes; pod.Spec.NodeSelector[vm] = no"},
	} {
		pod := podOf(tc.pod)
		if got := admit(t, plugin, create(corev1.Resource("pods"), pod)); got != tc.want {
			t.Errorf("%s: got rejection %q, want %q", name, got, tc.want)
		}
		if name == "class" && (pod.Spec.Overhead == nil || pod.Spec.NodeSelector["vm"] != "yes" || len(pod.Spec.Tolerations) != 1) {
			t.Errorf("%s: got pod %+v, want overhead, node selector and toleration of the class", name, pod.Spec)
		}
	}
}
