package admission

import (
	"testing"
	"time"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestDefaultIngressClass(t *testing.T) {
	class := func(name, isDefault string, age time.Duration) *networkingv1.IngressClass {
		return &networkingv1.IngressClass{ObjectMeta: metav1.ObjectMeta{Name: name, CreationTimestamp: metav1.NewTime(time.Now().Add(-age)),
			Annotations: map[string]string{networkingv1.AnnotationIsDefaultIngressClass: isDefault}}}
	}
	noDefault := initialize(t, newDefaultIngressClass(), class("other", "false", 0))
	twoDefaults := initialize(t, newDefaultIngressClass(), class("old", "true", time.Hour), class("new", "true", time.Minute), class("other", "false", 0))
	for name, tc := range map[string]struct {
		plugin      *defaultIngressClass
		className   *string
		annotations map[string]string
		want        string
	}{
		"no default":          {noDefault, nil, nil, ""},
		"newest default":      {twoDefaults, nil, nil, "new"},
		"class in field":      {twoDefaults, ptr("other"), nil, "other"},
		"class in annotation": {twoDefaults, nil, map[string]string{legacyIngressClass: "x"}, ""},
	} {
		ingress := &networkingv1.Ingress{ObjectMeta: metav1.ObjectMeta{Name: "i", Namespace: "ns", Annotations: tc.annotations}}
		ingress.Spec.IngressClassName = tc.className
		if rejection := admit(t, tc.plugin, create(networkingv1.Resource("ingresses"), ingress)); rejection != "" {
			t.Errorf("%s: got rejection %q, want none", name, rejection)
		}
		got := ""
		if ingress.Spec.IngressClassName != nil {
			got = *ingress.Spec.IngressClassName
		}
		if got != tc.want {
			t.Errorf("%s: got class %q, want %q", name, got, tc.want)
		}
	}
	// A class that was just created counts although the cache does not have it yet.
	created := class("created", "true", 0)
	if _, err := noDefault.client.NetworkingV1().IngressClasses().Create(t.Context(), created, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if rejection := admit(t, noDefault, create(networkingv1.Resource("ingressclasses"), created)); rejection != "" {
		t.Errorf("create of a class: got rejection %q, want none", rejection)
	}
	ingress := &networkingv1.Ingress{ObjectMeta: metav1.ObjectMeta{Name: "i", Namespace: "ns"}}
	admit(t, noDefault, create(networkingv1.Resource("ingresses"), ingress))
	if c := ingress.Spec.IngressClassName; c == nil || *c != "created" {
		t.Errorf("got class %v, want created", c)
	}
}
