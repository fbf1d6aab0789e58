package endpoints

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// outside is a Service without selector, and where somebody says that it is served.
func outside(change func(*corev1.Endpoints)) []runtime.Object {
	s := web()
	s.Name, s.Spec.Selector = "db", nil
	n := "n1"
	e := &corev1.Endpoints{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "db", UID: "db", Labels: map[string]string{"team": "b"}, Annotations: map[string]string{corev1.EndpointsLastChangeTriggerTime: "now", "note": "x"}},
		Subsets: []corev1.EndpointSubset{{Addresses: []corev1.EndpointAddress{{IP: "192.0.2.7", NodeName: &n}, {IP: "2001:db8::1"}, {IP: "nonsense"}},
			NotReadyAddresses: []corev1.EndpointAddress{{IP: "192.0.2.5", Hostname: "five"}}, Ports: []corev1.EndpointPort{{Name: "sql", Port: 5432}}}}}
	if change != nil {
		change(e)
	}
	return []runtime.Object{s, e}
}

// mirrors are the mirrored slices of db in words.
func (w *world) mirrors() string {
	w.t.Helper()
	list, err := w.api.DiscoveryV1().EndpointSlices("default").List(w.t.Context(), metav1.ListOptions{LabelSelector: discoveryv1.LabelServiceName + "=db"})
	if err != nil {
		w.t.Fatal(err)
	}
	var out []string
	for _, s := range list.Items {
		text := string(s.AddressType)
		for _, p := range s.Ports {
			text += fmt.Sprintf(" %s:%d/%s", *p.Name, *p.Port, *p.Protocol)
		}
		if len(s.Endpoints) > 5 {
			text += fmt.Sprintf(" %d addresses", len(s.Endpoints))
			s.Endpoints = nil
		}
		for _, e := range s.Endpoints {
			if text += " " + e.Addresses[0]; !*e.Conditions.Ready {
				text += "(not ready)"
			}
		}
		out = append(out, text)
	}
	slices.Sort(out)
	return strings.Join(out, "; ")
}

func TestEndpointsOfOthersAreMirrored(t *testing.T) {
	with(t, outside(nil), func(w *world) {
		const before = "IPv4 sql:5432/TCP 192.0.2.5(not ready) 192.0.2.7; IPv6 sql:5432/TCP 2001:db8::1"
		if got := w.mirrors(); got != before {
			t.Errorf("mirrored as %s", got)
		}
		list, _ := w.api.DiscoveryV1().EndpointSlices("default").List(t.Context(), metav1.ListOptions{})
		for _, s := range list.Items {
			if s.Labels["team"] != "b" || s.Labels[discoveryv1.LabelManagedBy] != mirrorManager || len(s.Annotations) != 1 || s.Annotations["note"] != "x" || s.OwnerReferences[0].UID != "db" || s.GenerateName != "db-" {
				t.Errorf("%+v", s.ObjectMeta)
			}
			if err := w.api.DiscoveryV1().EndpointSlices("default").Delete(t.Context(), s.Name, metav1.DeleteOptions{}); err != nil {
				t.Error(err)
			}
		}
		if w.settle(); w.mirrors() != before {
			t.Errorf("after others have deleted them: %s", w.mirrors())
		}
		e, _ := w.api.CoreV1().Endpoints("default").Get(t.Context(), "db", metav1.GetOptions{})
		e.Subsets[0].NotReadyAddresses, e.Subsets[0].Addresses = nil, e.Subsets[0].Addresses[:1]
		w.write(e)
		if got := w.mirrors(); got != "IPv4 sql:5432/TCP 192.0.2.7" {
			t.Errorf("with one address left: %s", got)
		}
		if err := w.api.CoreV1().Endpoints("default").Delete(t.Context(), "db", metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
		if w.settle(); w.mirrors() != "" {
			t.Errorf("without Endpoints: %s", w.mirrors())
		}
	})
}

func (w *world) write(e *corev1.Endpoints) {
	w.t.Helper()
	if _, err := w.api.CoreV1().Endpoints("default").Update(w.t.Context(), e, metav1.UpdateOptions{}); err != nil {
		w.t.Error(err)
	}
	w.settle()
}

func TestEndpointsThatAreNotMirrored(t *testing.T) {
	for name, change := range map[string]func(*corev1.Endpoints){
		"skipped":       func(e *corev1.Endpoints) { e.Labels[discoveryv1.LabelSkipMirror] = "true" },
		"an election":   func(e *corev1.Endpoints) { e.Annotations["control-plane.alpha.kubernetes.io/leader"] = "{}" },
		"of no Service": func(e *corev1.Endpoints) { e.Name = "other" },
	} {
		t.Run(name, func(t *testing.T) {
			with(t, outside(change), func(w *world) {
				list, _ := w.api.DiscoveryV1().EndpointSlices("default").List(t.Context(), metav1.ListOptions{})
				if len(list.Items) != 0 {
					t.Errorf("%s", w.mirrors())
				}
			})
		})
	}
	with(t, outside(nil), func(w *world) {
		s, _ := w.api.CoreV1().Services("default").Get(t.Context(), "db", metav1.GetOptions{})
		s.Spec.Selector = map[string]string{"app": "db"}
		if _, err := w.api.CoreV1().Services("default").Update(t.Context(), s, metav1.UpdateOptions{}); err != nil {
			t.Error(err)
		}
		w.settle()
		list, _ := w.api.DiscoveryV1().EndpointSlices("default").List(t.Context(), metav1.ListOptions{LabelSelector: discoveryv1.LabelManagedBy + "=" + mirrorManager})
		if len(list.Items) != 0 {
			t.Errorf("with a selector there are still %d mirrored slices", len(list.Items))
		}
	})
}

func TestManyAddressesAreMirroredInSeveralSlices(t *testing.T) {
	many := func(e *corev1.Endpoints) {
		e.Subsets[0].Addresses, e.Subsets[0].NotReadyAddresses = nil, nil
		for i := range 1234 {
			e.Subsets[0].Addresses = append(e.Subsets[0].Addresses, corev1.EndpointAddress{IP: fmt.Sprintf("192.0.%d.%d", i/200, i%200)})
		}
	}
	with(t, outside(many), func(w *world) {
		if got := w.mirrors(); strings.Count(got, "100 addresses") != 10 || strings.Count(got, "addresses") != 10 {
			t.Errorf("%s", got)
		}
		w.api.ClearActions()
		e, _ := w.api.CoreV1().Endpoints("default").Get(t.Context(), "db", metav1.GetOptions{})
		e.Annotations[corev1.EndpointsLastChangeTriggerTime] = "later"
		w.write(e)
		for _, a := range w.api.Actions() {
			if a.GetResource().Resource == "endpointslices" && a.GetVerb() != "list" {
				t.Errorf("written though nothing has changed: %s %s", a.GetVerb(), a.GetResource().Resource)
			}
		}
	})
}
