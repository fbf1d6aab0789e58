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

// Reading from the store slows down pod creation, so only objects that a recent write may have
// changed are read there.
func TestWritesThatBypassTheCache(t *testing.T) {
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
		plugin := initialized(t, newPriority())
		if rejection := admit(t, plugin, request(tc.op, priorityClasses, "", tc.class, tc.old)); rejection != "" {
			t.Errorf("%s: rejected: %s", name, rejection)
		}
		if got := plugin.cache.stale(""); got != tc.stale {
			t.Errorf("%s: the store is read: %v, want %v", name, got, tc.stale)
		}
	}
}

func TestCacheIsStalePerNamespace(t *testing.T) {
	limits := initialized(t, newLimitRanger())
	admit(t, limits, create(corev1.Resource("limitranges"), &corev1.LimitRange{ObjectMeta: metav1.ObjectMeta{Name: "l", Namespace: "ns"}}))
	if !limits.cache.stale("ns") || limits.cache.stale("other") {
		t.Errorf("after a limit range was written the store is read for its namespace: %v, for another: %v", limits.cache.stale("ns"), limits.cache.stale("other"))
	}
}

// TestRecentWritesAreVisible: pods are admitted by the stored objects even if the cache lags.
func TestRecentWritesAreVisible(t *testing.T) {
	classes, accounts, nodes := nodev1.Resource("runtimeclasses"), corev1.Resource("serviceaccounts"), corev1.Resource("nodes")
	class := &nodev1.RuntimeClass{ObjectMeta: metav1.ObjectMeta{Name: "c"}, Handler: "h"}
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "s", Namespace: "ns"}}
	in := func(zone string) *corev1.Node {
		return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", Labels: map[string]string{corev1.LabelTopologyZone: zone}}}
	}
	for name, tc := range map[string]struct {
		write admission.Attributes
		stale string
	}{
		"a runtime class is created": {request(admission.Create, classes, "", class, nil), ""},
		"a runtime class is changed": {request(admission.Update, classes, "", class, class), "class"},
		"a runtime class is deleted": {request(admission.Delete, classes, "", nil, class), "class"},
		"an account is created":      {request(admission.Create, accounts, "", account, nil), ""},
		"an account is changed":      {request(admission.Update, accounts, "", account, account), "account"},
		"an account is deleted":      {request(admission.Delete, accounts, "", nil, account), "account"},
		"a token is requested":       {request(admission.Create, accounts, "token", account, nil), ""},
		"a node is created":          {request(admission.Create, nodes, "", in("z"), nil), ""},
		"a node is tainted":          {request(admission.Update, nodes, "", in("z"), in("z")), ""},
		"a node reports":             {request(admission.Update, nodes, "status", in("y"), in("z")), ""},
		"a node moves":               {request(admission.Update, nodes, "", in("y"), in("z")), "node"},
		"a node is deleted":          {request(admission.Delete, nodes, "", nil, in("z")), "node"},
	} {
		classes, accounts, nodes := initialized(t, newRuntimeClass()), initialized(t, newServiceAccount()), initialized(t, newPodTopologyLabels())
		for _, plugin := range []admission.Interface{classes, accounts, nodes} {
			if rejection := admit(t, plugin, tc.write); rejection != "" {
				t.Errorf("%s: rejected: %s", name, rejection)
			}
		}
		for kind, stale := range map[string]bool{"class": classes.cache.stale(""), "account": accounts.cache.stale("ns"), "node": nodes.cache.stale("")} {
			if stale != (kind == tc.stale) {
				t.Errorf("%s: the %s is read from the store: %v", name, kind, stale)
			}
		}
	}
}

// TestPodsAreDefaultedOnCreateOnly: plugins default pods on create and not on update.
func TestPodsAreDefaultedOnCreateOnly(t *testing.T) {
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", Labels: map[string]string{corev1.LabelTopologyZone: "z"}}}
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p", Namespace: "ns"}, Spec: corev1.PodSpec{NodeName: "n"}}
	for _, plugin := range []admission.Interface{initialized(t, newRuntimeClass(), node), initialized(t, newServiceAccount(), node), initialized(t, newPodTopologyLabels(), node)} {
		now := p.DeepCopy()
		if rejection := admit(t, plugin, request(admission.Update, corev1.Resource("pods"), "", now, p)); rejection != "" || !equality.Semantic.DeepEqual(now, p) {
			t.Errorf("%T: %s %+v", plugin, rejection, now)
		}
	}
}
