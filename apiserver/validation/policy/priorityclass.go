package policy

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/berthproject/berth/apiserver/podvalidation/defaulting"
	"github.com/berthproject/berth/apiserver/validation/checks"
)

const (
	// HighestUserDefinablePriority is the highest value of user-defined classes.
	HighestUserDefinablePriority = 1_000_000_000
	// SystemPriorityClassPrefix is the reserved prefix of system classes.
	SystemPriorityClassPrefix = "system-"
	// nodeCriticalPriority is the value of system-node-critical, the highest one.
	nodeCriticalPriority = 2*HighestUserDefinablePriority + 1000
)

// SystemPriorityClasses returns the two system classes of every cluster.
func SystemPriorityClasses() []*schedulingv1.PriorityClass {
	policy := corev1.PreemptLowerPriority
	return []*schedulingv1.PriorityClass{
		{
			ObjectMeta:       metav1.ObjectMeta{Name: "system-node-critical"},
			Value:            nodeCriticalPriority,
			Description:      "Used for system critical pods that must not be moved from their current node.",
			PreemptionPolicy: &policy,
		},
		{
			ObjectMeta:       metav1.ObjectMeta{Name: "system-cluster-critical"},
			Value:            2 * HighestUserDefinablePriority,
			Description:      "Used for system critical pods that must run in the cluster, but can be moved to another node if necessary.",
			PreemptionPolicy: &policy,
		},
	}
}

// DefaultPriorityClass sets the default preemption policy, PreemptLowerPriority.
func DefaultPriorityClass(pc *schedulingv1.PriorityClass) {
	defaulting.SetPointer(&pc.PreemptionPolicy, corev1.PreemptLowerPriority)
}

// ValidatePriorityClass validates a new class. Only system classes may have the prefix
// SystemPriorityClassPrefix or a value above HighestUserDefinablePriority.
func ValidatePriorityClass(pc *schedulingv1.PriorityClass) field.ErrorList {
	errs := checks.ObjectMeta(&pc.ObjectMeta, false, apivalidation.NameIsDNSSubdomain)
	if strings.HasPrefix(pc.Name, SystemPriorityClassPrefix) {
		if reason := systemClassDifference(pc); reason != "" {
			errs = append(errs, field.Forbidden(checks.MetadataPath.Child("name"),
				"priority class names with '"+SystemPriorityClassPrefix+"' prefix are reserved for system use only. error: "+reason))
		}
	} else if pc.Value > HighestUserDefinablePriority {
		errs = append(errs, field.Forbidden(field.NewPath("value"),
			fmt.Sprintf("maximum allowed value of a user defined priority is %d", HighestUserDefinablePriority)))
	}
	if pc.PreemptionPolicy != nil {
		errs = append(errs, validatePreemptionPolicy(*pc.PreemptionPolicy, field.NewPath("preemptionPolicy"))...)
	}
	return errs
}

func validatePreemptionPolicy(policy corev1.PreemptionPolicy, path *field.Path) field.ErrorList {
	if policy == "" {
		return field.ErrorList{field.Required(path, "")}
	}
	return checks.OneOf(policy, path, corev1.PreemptLowerPriority, corev1.PreemptNever)
}

// systemClassDifference returns how pc differs from the system class with the same name, or "".
func systemClassDifference(pc *schedulingv1.PriorityClass) string {
	for _, system := range SystemPriorityClasses() {
		switch {
		case system.Name != pc.Name:
		case system.Value != pc.Value:
			return fmt.Sprintf("value of %s PriorityClass must be %d", pc.Name, system.Value)
		case system.GlobalDefault != pc.GlobalDefault:
			return fmt.Sprintf("globalDefault of %s PriorityClass must be %t", pc.Name, system.GlobalDefault)
		default:
			return ""
		}
	}
	return pc.Name + " is not a known system priority class"
}

// ValidatePriorityClassUpdate rejects changes of value and preemptionPolicy.
func ValidatePriorityClassUpdate(pc, old *schedulingv1.PriorityClass) field.ErrorList {
	errs := checks.ObjectMetaUpdate(&pc.ObjectMeta, &old.ObjectMeta)
	if pc.Value != old.Value {
		errs = append(errs, field.Forbidden(field.NewPath("value"), "may not be changed in an update."))
	}
	return append(errs, checks.Immutable(pc.PreemptionPolicy, old.PreemptionPolicy, field.NewPath("preemptionPolicy"))...)
}
