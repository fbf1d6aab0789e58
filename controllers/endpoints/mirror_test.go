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

	"github.com/berthproject/berth/controllers/upstreamguard"
)

// newUserEndpoints returns a Service without selector and its Endpoints.
func newUserEndpoints(change func(*corev1.Endpoints)) []runtime.Object {
	s := newService()
	s.Name, s.Spec.Selector = "db", nil
	n := "n1"
	e := &corev1.Endpoints{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "db", UID: "db", Labels: map[string]string{"team": "b"}, Annotations: map[string]string{corev1.EndpointsLastChangeTriggerTime: "now", "note": "x"}},
		Subsets: []corev1.EndpointSubset{{Addresses: []corev1.EndpointAddress{{IP: "192.0.2.7", NodeName: &n}, {IP: "2001:db8::1"}, {IP: "invalid"}},
			NotReadyAddresses: []corev1.EndpointAddress{{IP: "192.0.2.5", Hostname: "five"}}, Ports: []corev1.EndpointPort{{Name: "sql", Port: 5432}}}}}
	if change != nil {
		change(e)
	}
	return []runtime.Object{s, e}
}

// mirroredSlices formats the mirrored slices of db.
func (h *harness) mirroredSlices() string {
	h.t.Helper()
	list, err := h.api.DiscoveryV1().EndpointSlices("default").List(h.t.Context(), metav1.ListOptions{LabelSelector: discoveryv1.LabelServiceName + "=db"})
	if err != nil {
		h.t.Fatal(err)
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

func TestMirroring(t *testing.T) {
	runController(t, newUserEndpoints(nil), func(h *harness) {
		const initial = "IPv4 sql:5432/TCP 192.0.2.5(not ready) 192.0.2.7; IPv6 sql:5432/TCP 2001:db8::1"
		if got := h.mirroredSlices(); got != initial {
			t.Errorf("mirrored slices %s, want %s", got, initial)
		}
		list, _ := h.api.DiscoveryV1().EndpointSlices("default").List(t.Context(), metav1.ListOptions{})
		for _, s := range list.Items {
			if s.Labels["team"] != "b" || s.Labels[discoveryv1.LabelManagedBy] != mirrorManager || len(s.Annotations) != 1 || s.Annotations["note"] != "x" || s.OwnerReferences[0].UID != "db" || s.GenerateName != "db-" {
				t.Errorf("metadata %+v, want that of the Endpoints", s.ObjectMeta)
			}
			if err := h.api.DiscoveryV1().EndpointSlices("default").Delete(t.Context(), s.Name, metav1.DeleteOptions{}); err != nil {
				t.Error(err)
			}
		}
		if h.settle(); h.mirroredSlices() != initial {
			t.Errorf("mirrored slices %s after their deletion, want %s", h.mirroredSlices(), initial)
		}
		e, _ := h.api.CoreV1().Endpoints("default").Get(t.Context(), "db", metav1.GetOptions{})
		e.Subsets[0].NotReadyAddresses, e.Subsets[0].Addresses = nil, e.Subsets[0].Addresses[:1]
		h.updateEndpoints(e)
		if got := h.mirroredSlices(); got != "IPv4 sql:5432/TCP 192.0.2.7" {
			t.Errorf("mirrored slices %s, want the one remaining address", got)
		}
		if err := h.api.CoreV1().Endpoints("default").Delete(t.Context(), "db", metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
		if h.settle(); h.mirroredSlices() != "" {
			t.Errorf("mirrored slices %s without Endpoints, want none", h.mirroredSlices())
		}
	})
}

func (h *harness) updateEndpoints(e *corev1.Endpoints) {
	h.t.Helper()
	if _, err := h.api.CoreV1().Endpoints("default").Update(h.t.Context(), e, metav1.UpdateOptions{}); err != nil {
		h.t.Error(err)
	}
	h.settle()
}

func TestEndpointsNotMirrored(t *testing.T) {
	for name, change := range map[string]func(*corev1.Endpoints){
		"skip label":           func(e *corev1.Endpoints) { e.Labels[discoveryv1.LabelSkipMirror] = "true" },
		"leader election lock": func(e *corev1.Endpoints) { e.Annotations["control-plane.alpha.kubernetes.io/leader"] = "{}" },
		"without Service":      func(e *corev1.Endpoints) { e.Name = "other" },
	} {
		t.Run(name, func(t *testing.T) {
			runController(t, newUserEndpoints(change), func(h *harness) {
				list, _ := h.api.DiscoveryV1().EndpointSlices("default").List(t.Context(), metav1.ListOptions{})
				if len(list.Items) != 0 {
					t.Errorf("mirrored slices %s, want none", h.mirroredSlices())
				}
			})
		})
	}
	runController(t, newUserEndpoints(nil), func(h *harness) {
		s, _ := h.api.CoreV1().Services("default").Get(t.Context(), "db", metav1.GetOptions{})
		s.Spec.Selector = map[string]string{"app": "db"}
		if _, err := h.api.CoreV1().Services("default").Update(t.Context(), s, metav1.UpdateOptions{}); err != nil {
			t.Error(err)
		}
		h.settle()
		list, _ := h.api.DiscoveryV1().EndpointSlices("default").List(t.Context(), metav1.ListOptions{LabelSelector: discoveryv1.LabelManagedBy + "=" + mirrorManager})
		if len(list.Items) != 0 {
			t.Errorf("%d mirrored slices with a selector, want none", len(list.Items))
		}
	})
}

// TestMirroredSlicesMatchUpstream compares mirrored slices with those of upstream's controller. If they differed, both
// controllers would overwrite each other's slices.
func TestMirroredSlicesMatchUpstream(t *testing.T) {
	addresses := func(ips ...string) (out []corev1.EndpointAddress) {
		for _, ip := range ips {
			out = append(out, corev1.EndpointAddress{IP: ip})
		}
		return out
	}
	ports := func(names ...string) (out []corev1.EndpointPort) {
		for _, name := range names {
			out = append(out, corev1.EndpointPort{Name: name, Port: int32(name[0]), Protocol: corev1.ProtocolTCP})
		}
		return out
	}
	var ips []string
	for i := range 150 {
		ips = append(ips, fmt.Sprintf("192.0.2.%d", i))
	}
	for name, tc := range map[string]struct {
		subsets []corev1.EndpointSubset
		want    string
	}{
		"many addresses in one slice":                    {[]corev1.EndpointSubset{{Addresses: addresses(ips...), Ports: ports("a")}}, "IPv4 a:97/TCP 150 addresses"},
		"equal ports are together":                       {[]corev1.EndpointSubset{{Addresses: addresses("1.0.0.2"), Ports: ports("a", "b")}, {Addresses: addresses("1.0.0.1"), Ports: ports("b", "a")}}, "IPv4 a:97/TCP b:98/TCP 1.0.0.1 1.0.0.2"},
		"equal addresses are together":                   {[]corev1.EndpointSubset{{Addresses: addresses("1.0.0.1"), Ports: ports("b")}, {Addresses: addresses("1.0.0.1"), Ports: ports("a")}}, "IPv4 a:97/TCP b:98/TCP 1.0.0.1"},
		"ports of some addresses form their own subset":  {[]corev1.EndpointSubset{{Addresses: addresses("1.0.0.1"), Ports: ports("a", "b")}, {Addresses: addresses("1.0.0.2"), Ports: ports("a")}}, "IPv4 a:97/TCP 1.0.0.1 1.0.0.2; IPv4 b:98/TCP 1.0.0.1"},
		"an address that is not ready once is not ready": {[]corev1.EndpointSubset{{NotReadyAddresses: addresses("1.0.0.1"), Ports: ports("a")}, {Addresses: addresses("1.0.0.1"), Ports: ports("a")}}, "IPv4 a:97/TCP 1.0.0.1(not ready)"},
		"ready at one port only":                         {[]corev1.EndpointSubset{{NotReadyAddresses: addresses("1.0.0.1"), Ports: ports("a")}, {Addresses: addresses("1.0.0.1"), Ports: ports("b")}}, "IPv4 a:97/TCP 1.0.0.1(not ready); IPv4 b:98/TCP 1.0.0.1"},
		"without ports":                                  {[]corev1.EndpointSubset{{Addresses: addresses("1.0.0.1")}, {Addresses: addresses("1.0.0.2")}}, "IPv4 1.0.0.1 1.0.0.2"},
		"without ports in one subset":                    {[]corev1.EndpointSubset{{Addresses: addresses("1.0.0.1")}, {Addresses: addresses("1.0.0.1"), Ports: ports("a")}}, "IPv4 a:97/TCP 1.0.0.1"},
		"one address of two pods with the same name":     {[]corev1.EndpointSubset{{Addresses: []corev1.EndpointAddress{{IP: "1.0.0.1", TargetRef: &corev1.ObjectReference{Name: "p", UID: "1"}}, {IP: "1.0.0.1", TargetRef: &corev1.ObjectReference{Name: "p", UID: "2"}}}}}, "IPv4 1.0.0.1"},
	} {
		t.Run(name, func(t *testing.T) {
			runController(t, newUserEndpoints(func(e *corev1.Endpoints) { e.Subsets = tc.subsets }), func(h *harness) {
				if got := h.mirroredSlices(); got != tc.want {
					t.Errorf("mirrored as %q, want %q", got, tc.want)
				}
			})
		})
	}
}

// TestMirroredSliceIsAdopted checks that slices of upstream's controller, with endpoints in another order, are not
// changed.
func TestMirroredSliceIsAdopted(t *testing.T) {
	runController(t, newUserEndpoints(func(e *corev1.Endpoints) {
		e.Subsets = []corev1.EndpointSubset{{Addresses: []corev1.EndpointAddress{{IP: "1.0.0.1"}, {IP: "1.0.0.2"}}, Ports: []corev1.EndpointPort{{Name: "a", Port: 1}, {Name: "b", Port: 2}}}}
	}), func(h *harness) {
		api := h.api.DiscoveryV1().EndpointSlices("default")
		list, err := api.List(t.Context(), metav1.ListOptions{})
		if err != nil || len(list.Items) != 1 {
			t.Fatalf("%d slices, error %v, want 1", len(list.Items), err)
		}
		adopted := &list.Items[0]
		slices.Reverse(adopted.Ports)
		slices.Reverse(adopted.Endpoints)
		h.api.ClearActions()
		if _, err := api.Update(t.Context(), adopted, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
		h.settle()
		for _, a := range h.api.Actions()[1:] {
			if a.Matches("create", "endpointslices") || a.Matches("update", "endpointslices") || a.Matches("delete", "endpointslices") {
				t.Errorf("request %s of a slice, want no writes", a.GetVerb())
			}
		}
	})
}

// TestManagersAreGuarded checks that the guard covers upstream's controllers, which would write the same objects.
func TestManagersAreGuarded(t *testing.T) {
	message := (&upstreamguard.ConflictError{Controllers: []string{"endpoints"}}).Error()
	for name, flag := range map[string]string{
		sliceManager:     "endpointslice-controller",
		endpointsManager: "endpoints-controller",
		mirrorManager:    "endpointslice-mirroring-controller",
	} {
		if !strings.Contains(message, ",-"+flag) {
			t.Errorf("manager %s is not among the upstream controllers, want flag %s in %q", name, flag, message)
		}
	}
}

func TestMirroringLimit(t *testing.T) {
	setAddresses := func(e *corev1.Endpoints) {
		e.Subsets[0].Addresses, e.Subsets[0].NotReadyAddresses = nil, nil
		for i := range 1234 {
			e.Subsets[0].Addresses = append(e.Subsets[0].Addresses, corev1.EndpointAddress{IP: fmt.Sprintf("192.0.%d.%d", i/200, i%200)})
		}
	}
	runController(t, newUserEndpoints(setAddresses), func(h *harness) {
		if got := h.mirroredSlices(); got != "IPv4 sql:5432/TCP 1000 addresses" {
			t.Errorf("mirrored slices %s, want 1000 addresses", got)
		}
		h.api.ClearActions()
		e, _ := h.api.CoreV1().Endpoints("default").Get(t.Context(), "db", metav1.GetOptions{})
		e.Annotations[corev1.EndpointsLastChangeTriggerTime] = "later"
		h.updateEndpoints(e)
		for _, a := range h.api.Actions() {
			if a.GetResource().Resource == "endpointslices" && a.GetVerb() != "list" {
				t.Errorf("request %s of %s without a change, want none", a.GetVerb(), a.GetResource().Resource)
			}
		}
	})
}
