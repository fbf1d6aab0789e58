package policy

import (
	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metavalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/berthproject/berth/apiserver/podvalidation"
	"github.com/berthproject/berth/apiserver/validation/checks"
)

// ValidateRuntimeClass validates a new class.
func ValidateRuntimeClass(rc *nodev1.RuntimeClass) field.ErrorList {
	errs := checks.ObjectMeta(&rc.ObjectMeta, false, apivalidation.NameIsDNSSubdomain)
	errs = append(errs, checks.DNSLabel(rc.Handler, field.NewPath("handler"))...)
	if rc.Overhead != nil {
		errs = append(errs, podvalidation.ValidateResourceRequirements(&corev1.ResourceRequirements{Limits: rc.Overhead.PodFixed}, field.NewPath("overhead"))...)
	}
	if rc.Scheduling != nil {
		path := field.NewPath("scheduling")
		if rc.Scheduling.NodeSelector != nil {
			errs = append(errs, metavalidation.ValidateLabels(rc.Scheduling.NodeSelector, path.Child("nodeSelector"))...)
		}
		errs = append(errs, podvalidation.ValidateTolerations(rc.Scheduling.Tolerations, path.Child("tolerations"))...)
		for i, t := range rc.Scheduling.Tolerations {
			for _, earlier := range rc.Scheduling.Tolerations[:i] {
				if checks.SemanticEqual(t, earlier) {
					errs = append(errs, field.Duplicate(path.Child("tolerations").Index(i), t))
				}
			}
		}
	}
	return errs
}

// ValidateRuntimeClassUpdate rejects changes of the handler.
func ValidateRuntimeClassUpdate(rc, old *nodev1.RuntimeClass) field.ErrorList {
	errs := checks.ObjectMetaUpdate(&rc.ObjectMeta, &old.ObjectMeta)
	return append(errs, checks.Immutable(rc.Handler, old.Handler, field.NewPath("handler"))...)
}
