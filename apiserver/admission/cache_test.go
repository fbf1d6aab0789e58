package admission

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/admission"
)

// Reading the store costs each pod's creation a while, so only what a write may have changed is read there.
func TestWritesAfterWhichTheStoreIsRead(t *testing.T) {
	plain, standard := classOf("plain", 1, false, corev1.PreemptNever), classOf("standard", 1, true, corev1.PreemptNever)
	for name, tc := range map[string]struct {
		op         admission.Operation
		class, old runtime.Object
		stale      bool
	}{
		"a class is made":            {op: admission.Create, class: plain},
		"a class is labelled":        {op: admission.Update, class: plain, old: plain},
		"the default is made":        {op: admission.Create, class: standard, stale: true},
		"a class becomes default":    {op: admission.Update, class: standard, old: plain, stale: true},
		"a class is default no more": {op: admission.Update, class: plain, old: standard, stale: true},
		"a class is deleted":         {op: admission.Delete, old: plain, stale: true},
	} {
		plugin := started(t, newPriority())
		if refused := admit(t, plugin, request(tc.op, priorityClasses, "", tc.class, tc.old)); refused != "" {
			t.Errorf("%s: refused: %s", name, refused)
		}
		if got := plugin.cache.stale(""); got != tc.stale {
			t.Errorf("%s: the store is read: %v, want %v", name, got, tc.stale)
		}
	}
}

func TestWritesConcernTheirNamespace(t *testing.T) {
	limits := started(t, newLimitRanger())
	admit(t, limits, create(corev1.Resource("limitranges"), &corev1.LimitRange{ObjectMeta: metav1.ObjectMeta{Name: "l", Namespace: "ns"}}))
	if !limits.cache.stale("ns") || limits.cache.stale("other") {
		t.Errorf("after a limit range was written the store is read for its namespace: %v, for another: %v", limits.cache.stale("ns"), limits.cache.stale("other"))
	}
}
