package endpoints

import (
	"maps"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
)

func TestTerminatingPodIsNotReady(t *testing.T) {
	runController(t, []runtime.Object{newService(), newNode("n1"), newPod("p1", corev1.ConditionTrue), newPod("p2", corev1.ConditionTrue), newPod("p3", corev1.ConditionFalse)}, func(h *harness) {
		want := map[string]string{"p1": "ready serving ", "p2": "ready serving ", "p3": ""}
		if got := h.conditions(); !maps.Equal(got, want) {
			t.Errorf("initial conditions %v, want %v", got, want)
		}
		if ready, notReady := h.addresses(); ready != 2 || notReady != 1 {
			t.Errorf("initially %d ready, %d not ready, want 2 and 1", ready, notReady)
		}
		h.updatePod("p1", "2", func(p *corev1.Pod) {
			p.DeletionTimestamp, p.DeletionGracePeriodSeconds = &metav1.Time{Time: time.Now().Add(30 * time.Second)}, ptr.To[int64](30)
			p.Finalizers = []string{"example.com/wait"}
		})
		want["p1"] = "serving terminating"
		if got := h.conditions(); !maps.Equal(got, want) {
			t.Errorf("conditions while p1 terminates: %v, want %v", got, want)
		}
		if ready, notReady := h.addresses(); ready != 1 || notReady != 1 {
			t.Errorf("while p1 terminates: %d ready, %d not ready, want 1 and 1", ready, notReady)
		}
		if err := h.api.CoreV1().Pods("default").Delete(t.Context(), "p1", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		h.settle()
		if _, exists := h.conditions()["p1"]; exists {
			t.Error("p1 is in the slices after its deletion, want it removed")
		}
	})
}

func TestPodOnUnknownNode(t *testing.T) {
	runController(t, []runtime.Object{newService(), newPod("p1", corev1.ConditionTrue)}, func(h *harness) {
		if got := h.conditions(); len(got) != 0 {
			t.Errorf("without its node: conditions %v, want none", got)
		}
		if _, err := h.api.CoreV1().Nodes().Create(t.Context(), newNode("n1"), metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		h.settle()
		if got := h.conditions(); len(got) != 1 {
			t.Errorf("with its node: conditions %v, want one pod", got)
		}
	})
}

func TestDeletedService(t *testing.T) {
	otherSlice := &discoveryv1.EndpointSlice{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web-other", UID: "f",
		Labels: map[string]string{discoveryv1.LabelServiceName: "web", discoveryv1.LabelManagedBy: "example.com"}}}
	userEndpoints := &corev1.Endpoints{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "db"}, Subsets: []corev1.EndpointSubset{{Addresses: []corev1.EndpointAddress{{IP: "192.0.2.1"}}}}}
	db := newService()
	db.Name, db.UID, db.Spec.Selector = "db", "db", nil
	runController(t, []runtime.Object{newService(), db, userEndpoints, otherSlice, newNode("n1"), newPod("p1", corev1.ConditionTrue)}, func(h *harness) {
		for _, name := range []string{"web", "db"} {
			if err := h.api.CoreV1().Services("default").Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
				t.Fatal(err)
			}
		}
		h.settle()
		list, err := h.api.DiscoveryV1().EndpointSlices("default").List(t.Context(), metav1.ListOptions{})
		if err != nil || len(list.Items) != 1 || list.Items[0].Name != "web-other" {
			t.Errorf("slices %v, error %v, want only web-other", list.Items, err)
		}
		if _, err := h.api.CoreV1().Endpoints("default").Get(t.Context(), "web", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
			t.Errorf("Endpoints of web: error %v, want NotFound", err)
		}
		if _, err := h.api.CoreV1().Endpoints("default").Get(t.Context(), "db", metav1.GetOptions{}); err != nil {
			t.Errorf("Endpoints of a user: error %v, want none", err)
		}
	})
}

func TestNoRedundantWrites(t *testing.T) {
	runController(t, []runtime.Object{newService(), newNode("n1"), newPod("p1", corev1.ConditionTrue)}, func(h *harness) {
		h.api.ClearActions()
		h.updatePod("p1", "2", func(p *corev1.Pod) { p.Annotations = map[string]string{"note": "new"} })
		h.updatePod("p1", "3", func(p *corev1.Pod) { p.Status.Conditions[0].Status = corev1.ConditionFalse })
		writes := 0
		for _, a := range h.api.Actions() {
			if r := a.GetResource().Resource; a.GetVerb() == "update" && (r == "endpoints" || r == "endpointslices") {
				writes++
			}
		}
		if writes != 2 {
			t.Errorf("%d writes, want 2: one of the slice and one of the Endpoints", writes)
		}
	})
}
