package admission

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/admission"
)

// TestDefaultClassChangeMakesCacheStale checks that only changes of the default class make the cache stale: reading
// from the store slows down pod creation.
func TestDefaultClassChangeMakesCacheStale(t *testing.T) {
	plain, standard := classOf("plain", 1, false, corev1.PreemptNever), classOf("standard", 1, true, corev1.PreemptNever)
	for name, tc := range map[string]struct {
		op         admission.Operation
		class, old runtime.Object
		stale      bool
	}{
		"a class is created":           {op: admission.Create, class: plain},
		"a class is labeled":           {op: admission.Update, class: plain, old: plain},
		"the default class is created": {op: admission.Create, class: standard, stale: true},
		"a class becomes default":      {op: admission.Update, class: standard, old: plain, stale: true},
		"a class is no longer default": {op: admission.Update, class: plain, old: standard, stale: true},
		"a class is deleted":           {op: admission.Delete, old: plain, stale: true},
	} {
		plugin := initialize(t, newPriority())
		if rejection := admit(t, plugin, request(tc.op, priorityClasses, "", tc.class, tc.old)); rejection != "" {
			t.Errorf("%s: got rejection %q, want none", name, rejection)
		}
		if got := plugin.cache.isStale(""); got != tc.stale {
			t.Errorf("%s: cache stale: got %v, want %v", name, got, tc.stale)
		}
	}
}

func TestCacheIsStalePerNamespace(t *testing.T) {
	limits := initialize(t, newLimitRanger())
	admit(t, limits, create(corev1.Resource("limitranges"), &corev1.LimitRange{ObjectMeta: metav1.ObjectMeta{Name: "l", Namespace: "ns"}}))
	if !limits.cache.isStale("ns") || limits.cache.isStale("other") {
		t.Errorf("after a write of a LimitRange: got stale cache for its namespace: %v, for another namespace: %v; want true, false", limits.cache.isStale("ns"), limits.cache.isStale("other"))
	}
}

// TestRelevantWritesMakeCacheStale checks which writes make which cache stale: those that may change the admission of
// pods.
func TestRelevantWritesMakeCacheStale(t *testing.T) {
	classes, accounts, nodes := nodev1.Resource("runtimeclasses"), corev1.Resource("serviceaccounts"), corev1.Resource("nodes")
	class := &nodev1.RuntimeClass{ObjectMeta: metav1.ObjectMeta{Name: "c"}, Handler: "h"}
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "s", Namespace: "ns"}}
	nodeIn := func(zone string) *corev1.Node {
		return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", Labels: map[string]string{corev1.LabelTopologyZone: zone}}}
	}
	for name, tc := range map[string]struct {
		write admission.Attributes
		stale string // kind whose cache is stale; empty for none
	}{
		"a runtime class is created": {request(admission.Create, classes, "", class, nil), ""},
		"a runtime class is changed": {request(admission.Update, classes, "", class, class), "class"},
		"a runtime class is deleted": {request(admission.Delete, classes, "", nil, class), "class"},
		"an account is created":      {request(admission.Create, accounts, "", account, nil), ""},
		"an account is changed":      {request(admission.Update, accounts, "", account, account), "account"},
		"an account is deleted":      {request(admission.Delete, accounts, "", nil, account), "account"},
		"a token is requested":       {request(admission.Create, accounts, "token", account, nil), ""},
		"a node is created":          {request(admission.Create, nodes, "", nodeIn("z"), nil), ""},
		"a node is tainted":          {request(admission.Update, nodes, "", nodeIn("z"), nodeIn("z")), ""},
		"a status changes":           {request(admission.Update, nodes, "status", nodeIn("y"), nodeIn("z")), ""},
		"a zone changes":             {request(admission.Update, nodes, "", nodeIn("y"), nodeIn("z")), "node"},
		"a node is deleted":          {request(admission.Delete, nodes, "", nil, nodeIn("z")), "node"},
	} {
		runtimeClass, serviceAccount, topologyLabels := initialize(t, newRuntimeClass()), initialize(t, newServiceAccount()), initialize(t, newPodTopologyLabels())
		for _, plugin := range []admission.Interface{runtimeClass, serviceAccount, topologyLabels} {
			if rejection := admit(t, plugin, tc.write); rejection != "" {
				t.Errorf("%s: got rejection %q, want none", name, rejection)
			}
		}
		for kind, stale := range map[string]bool{"class": runtimeClass.cache.isStale(""), "account": serviceAccount.cache.isStale("ns"), "node": topologyLabels.cache.isStale("")} {
			if stale != (kind == tc.stale) {
				t.Errorf("%s: %s cache stale: got %v, want %v", name, kind, stale, !stale)
			}
		}
	}
}

// TestPodsAreDefaultedOnCreateOnly checks that plugins do not set defaults of pods on update.
func TestPodsAreDefaultedOnCreateOnly(t *testing.T) {
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", Labels: map[string]string{corev1.LabelTopologyZone: "z"}}}
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p", Namespace: "ns"}, Spec: corev1.PodSpec{NodeName: "n"}}
	for _, plugin := range []admission.Interface{initialize(t, newRuntimeClass(), node), initialize(t, newServiceAccount(), node), initialize(t, newPodTopologyLabels(), node)} {
		updated := p.DeepCopy()
		if rejection := admit(t, plugin, request(admission.Update, corev1.Resource("pods"), "", updated, p)); rejection != "" || !equality.Semantic.DeepEqual(updated, p) {
			t.Errorf("%T: got rejection %q, pod %+v, want an unchanged pod", plugin, rejection, updated)
		}
	}
}
