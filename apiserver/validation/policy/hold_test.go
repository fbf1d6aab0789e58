package policy

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berthproject/berth/api/v1alpha1"
)

func validHold() *v1alpha1.Hold {
	return &v1alpha1.Hold{
		ObjectMeta: metav1.ObjectMeta{Name: "reserve-1", Namespace: "default"},
		Spec: v1alpha1.HoldSpec{Type: v1alpha1.Reserve, Owner: v1alpha1.Owner{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "web", UID: "u"},
			Node: "n1", Cause: "Descheduling", Until: metav1.NewTime(time.Unix(1000, 0)),
			Victim: &v1alpha1.Victim{UID: "v", Requests: corev1.ResourceList{"cpu": resource.MustParse("1")}, HostPorts: []v1alpha1.HostPort{{Port: 80}}}},
	}
}

func TestHoldValidation(t *testing.T) {
	valid := validHold()
	DefaultHold(valid)
	if errs := ValidateHold(valid); len(errs) > 0 || valid.Spec.Count != 1 || valid.Spec.Victim.HostPorts[0].Protocol != corev1.ProtocolTCP {
		t.Fatalf("got errors %v, spec %+v, want no errors, count 1 and protocol TCP", errs, valid.Spec)
	}
	for want, change := range map[string]func(*v1alpha1.HoldSpec){
		`spec.type: Unsupported value: "Repel"`:          func(s *v1alpha1.HoldSpec) { s.Type = "Repel" },
		"spec.owner.uid: Required value":                 func(s *v1alpha1.HoldSpec) { s.Owner.UID = "" },
		"spec.owner.kind: Required value":                func(s *v1alpha1.HoldSpec) { s.Owner.Kind = "" },
		"spec.node: Required value":                      func(s *v1alpha1.HoldSpec) { s.Node = "" },
		`spec.node: Invalid value: "N_1"`:                func(s *v1alpha1.HoldSpec) { s.Node = "N_1" },
		"spec.cause: Required value":                     func(s *v1alpha1.HoldSpec) { s.Cause = "" },
		"spec.cause: Too long":                           func(s *v1alpha1.HoldSpec) { s.Cause = strings.Repeat("x", 64) },
		"spec.count: Invalid value: -1":                  func(s *v1alpha1.HoldSpec) { s.Count = -1 },
		"spec.until: Required value: a Hold must expire": func(s *v1alpha1.HoldSpec) { s.Until = metav1.Time{} },
		"spec.victim: Required value: required for type Reserve, which reserves its resources": func(s *v1alpha1.HoldSpec) { s.Victim = nil },
		"spec.victim.uid: Required value":                              func(s *v1alpha1.HoldSpec) { s.Victim.UID = "" },
		`spec.victim.requests[cpu]: Invalid value: "-1"`:               func(s *v1alpha1.HoldSpec) { s.Victim.Requests["cpu"] = resource.MustParse("-1") },
		"spec.victim.hostPorts[0].port: Invalid value: 0":              func(s *v1alpha1.HoldSpec) { s.Victim.HostPorts[0].Port = 0 },
		`spec.victim.hostPorts[0].protocol: Unsupported value: "ICMP"`: func(s *v1alpha1.HoldSpec) { s.Victim.HostPorts[0].Protocol = "ICMP" },
	} {
		h := validHold()
		change(&h.Spec)
		DefaultHold(h)
		if errs := ValidateHold(h); len(errs) != 1 || !strings.HasPrefix(errs[0].Error(), want) {
			t.Errorf("got %v, want %q", errs, want)
		}
	}
	for want, change := range map[string]func(*v1alpha1.HoldSpec){
		"spec.type: Invalid value":  func(s *v1alpha1.HoldSpec) { s.Type = v1alpha1.Avoid },
		"spec.owner: Invalid value": func(s *v1alpha1.HoldSpec) { s.Owner.Name = "db" },
		"spec.node: Invalid value":  func(s *v1alpha1.HoldSpec) { s.Node = "n2" },
		"":                          func(s *v1alpha1.HoldSpec) { s.Count, s.Until = 2, metav1.NewTime(time.Unix(2000, 0)) },
	} {
		h := validHold()
		DefaultHold(h)
		old := h.DeepCopy()
		old.ResourceVersion, h.ResourceVersion = "1", "1"
		change(&h.Spec)
		if errs := ValidateHoldUpdate(h, old); len(errs) > 1 || len(errs) == 0 != (want == "") || want != "" && !strings.HasPrefix(errs[0].Error(), want) {
			t.Errorf("got %v, want %q", errs, want)
		}
	}
}
