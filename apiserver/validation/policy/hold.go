package policy

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/berthproject/berth/api/v1alpha1"
	"github.com/berthproject/berth/apiserver/podvalidation/defaulting"
	"github.com/berthproject/berth/apiserver/validation/checks"
)

// maxCause is the maximum length in bytes of spec.cause.
const maxCause = 63

// DefaultHold sets the count to 1 and the protocol of ports to TCP.
func DefaultHold(h *v1alpha1.Hold) {
	defaulting.Set(&h.Spec.Count, 1)
	if v := h.Spec.Victim; v != nil {
		for i := range v.HostPorts {
			defaulting.Set(&v.HostPorts[i].Protocol, corev1.ProtocolTCP)
		}
	}
}

// ValidateHold validates a new Hold. The CRD in deploy/hold-crd.yaml has the same rules as a
// schema.
func ValidateHold(h *v1alpha1.Hold) field.ErrorList {
	path, s := field.NewPath("spec"), &h.Spec
	errs := checks.ObjectMeta(&h.ObjectMeta, true, apivalidation.NameIsDNSSubdomain)
	errs = append(errs, checks.OneOf(s.Type, path.Child("type"), v1alpha1.Reserve, v1alpha1.Avoid)...)
	for _, f := range []struct{ name, value string }{{"apiVersion", s.Owner.APIVersion}, {"kind", s.Owner.Kind}, {"name", s.Owner.Name}, {"uid", string(s.Owner.UID)}} {
		switch {
		case f.value == "":
			errs = append(errs, field.Required(path.Child("owner", f.name), ""))
		case len(f.value) > validation.DNS1123SubdomainMaxLength:
			errs = append(errs, field.TooLong(path.Child("owner", f.name), f.value, validation.DNS1123SubdomainMaxLength))
		}
	}
	if s.Node == "" {
		errs = append(errs, field.Required(path.Child("node"), ""))
	} else {
		errs = append(errs, checks.DNSSubdomain(s.Node, path.Child("node"))...)
	}
	switch {
	case s.Cause == "":
		errs = append(errs, field.Required(path.Child("cause"), ""))
	case len(s.Cause) > maxCause:
		errs = append(errs, field.TooLong(path.Child("cause"), s.Cause, maxCause))
	}
	if s.Count < 1 {
		errs = append(errs, field.Invalid(path.Child("count"), s.Count, "must be at least 1"))
	}
	if s.Until.IsZero() {
		errs = append(errs, field.Required(path.Child("until"), "a Hold must expire"))
	}
	switch {
	case s.Victim != nil:
		errs = append(errs, validateVictim(s.Victim, path.Child("victim"))...)
	case s.Type == v1alpha1.Reserve:
		errs = append(errs, field.Required(path.Child("victim"), "required for type Reserve, which reserves its resources"))
	}
	return errs
}

func validateVictim(v *v1alpha1.Victim, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if v.UID == "" {
		errs = append(errs, field.Required(path.Child("uid"), ""))
	}
	if v.Priority > nodeCriticalPriority {
		errs = append(errs, field.Invalid(path.Child("priority"), v.Priority, fmt.Sprintf("must be at most %d", nodeCriticalPriority)))
	}
	for _, name := range checks.SortedKeys(v.Requests) {
		if q := v.Requests[name]; q.Sign() < 0 {
			errs = append(errs, field.Invalid(path.Child("requests").Key(string(name)), q.String(), "must not be negative"))
		}
	}
	errs = append(errs, metav1validation.ValidateLabels(v.Labels, path.Child("labels"))...)
	for i := range v.HostPorts {
		itemPath := path.Child("hostPorts").Index(i)
		errs = append(errs, checks.PortNumber(v.HostPorts[i].Port, itemPath.Child("port"))...)
		errs = append(errs, checks.OneOf(v.HostPorts[i].Protocol, itemPath.Child("protocol"), corev1.ProtocolTCP, corev1.ProtocolUDP, corev1.ProtocolSCTP)...)
	}
	return errs
}

// ValidateHoldUpdate validates an update. The fields that the Hold's name encodes are immutable.
func ValidateHoldUpdate(h, old *v1alpha1.Hold) field.ErrorList {
	path := field.NewPath("spec")
	errs := checks.ObjectMetaUpdate(&h.ObjectMeta, &old.ObjectMeta)
	errs = append(errs, ValidateHold(h)...)
	errs = append(errs, checks.Immutable(h.Spec.Type, old.Spec.Type, path.Child("type"))...)
	errs = append(errs, checks.Immutable(h.Spec.Owner, old.Spec.Owner, path.Child("owner"))...)
	return append(errs, checks.Immutable(h.Spec.Node, old.Spec.Node, path.Child("node"))...)
}
