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
	runController(t, []runtime.Object{web(), node("n1"), pod("p1", corev1.ConditionTrue), pod("p2", corev1.ConditionTrue), pod("p3", corev1.ConditionFalse)}, func(w *harness) {
		want := map[string]string{"p1": "ready serving ", "p2": "ready serving ", "p3": ""}
		if got := w.conditions(); !maps.Equal(got, want) {
			t.Errorf("at first: %v", got)
		}
		if ready, not := w.addresses(); ready != 2 || not != 1 {
			t.Errorf("at first: %d ready, %d not ready", ready, not)
		}
		w.update("p1", "2", func(p *corev1.Pod) {
			p.DeletionTimestamp, p.DeletionGracePeriodSeconds = &metav1.Time{Time: time.Now().Add(30 * time.Second)}, ptr.To[int64](30)
			p.Finalizers = []string{"example.com/wait"}
		})
		want["p1"] = "serving terminating"
		if got := w.conditions(); !maps.Equal(got, want) {
			t.Errorf("while p1 ends: %v", got)
		}
		if ready, not := w.addresses(); ready != 1 || not != 1 {
			t.Errorf("while p1 ends: %d ready, %d not ready", ready, not)
		}
		if err := w.api.CoreV1().Pods("default").Delete(t.Context(), "p1", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		w.settle()
		if _, exists := w.conditions()["p1"]; exists {
			t.Error("p1 is deleted but still an endpoint")
		}
	})
}

func TestPodOnUnknownNode(t *testing.T) {
	runController(t, []runtime.Object{web(), pod("p1", corev1.ConditionTrue)}, func(w *harness) {
		if got := w.conditions(); len(got) != 0 {
			t.Errorf("without its node: %v", got)
		}
		if _, err := w.api.CoreV1().Nodes().Create(t.Context(), node("n1"), metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		w.settle()
		if got := w.conditions(); len(got) != 1 {
			t.Errorf("with its node: %v", got)
		}
	})
}

func TestDeletedService(t *testing.T) {
	otherSlice := &discoveryv1.EndpointSlice{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web-other", UID: "f",
		Labels: map[string]string{discoveryv1.LabelServiceName: "web", discoveryv1.LabelManagedBy: "example.com"}}}
	byHand := &corev1.Endpoints{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "db"}, Subsets: []corev1.EndpointSubset{{Addresses: []corev1.EndpointAddress{{IP: "192.0.2.1"}}}}}
	db := web()
	db.Name, db.UID, db.Spec.Selector = "db", "db", nil
	runController(t, []runtime.Object{web(), db, byHand, otherSlice, node("n1"), pod("p1", corev1.ConditionTrue)}, func(w *harness) {
		for _, name := range []string{"web", "db"} {
			if err := w.api.CoreV1().Services("default").Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
				t.Fatal(err)
			}
		}
		w.settle()
		list, err := w.api.DiscoveryV1().EndpointSlices("default").List(t.Context(), metav1.ListOptions{})
		if err != nil || len(list.Items) != 1 || list.Items[0].Name != "web-other" {
			t.Errorf("slices left: %v, %v", list.Items, err)
		}
		if _, err := w.api.CoreV1().Endpoints("default").Get(t.Context(), "web", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
			t.Errorf("the Endpoints of web: %v", err)
		}
		if _, err := w.api.CoreV1().Endpoints("default").Get(t.Context(), "db", metav1.GetOptions{}); err != nil {
			t.Errorf("Endpoints made by hand: %v", err)
		}
	})
}

func TestNoRedundantWrites(t *testing.T) {
	runController(t, []runtime.Object{web(), node("n1"), pod("p1", corev1.ConditionTrue)}, func(w *harness) {
		w.api.ClearActions()
		w.update("p1", "2", func(p *corev1.Pod) { p.Annotations = map[string]string{"note": "new"} })
		w.update("p1", "3", func(p *corev1.Pod) { p.Status.Conditions[0].Status = corev1.ConditionFalse })
		writes := 0
		for _, a := range w.api.Actions() {
			if r := a.GetResource().Resource; a.GetVerb() == "update" && (r == "endpoints" || r == "endpointslices") {
				writes++
			}
		}
		if writes != 2 {
			t.Errorf("%d writes for one change", writes)
		}
	})
}
