package validation

import (
	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metavalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/berthproject/berth/apiserver/podvalidation"
)

// ValidateRuntimeClass validates a new class.
func ValidateRuntimeClass(rc *nodev1.RuntimeClass) field.ErrorList {
	errs := objectMeta(&rc.ObjectMeta, false, apivalidation.NameIsDNSSubdomain)
	errs = append(errs, dnsLabel(rc.Handler, field.NewPath("handler"))...)
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
			for _, before := range rc.Scheduling.Tolerations[:i] {
				if semanticEqual(t, before) {
					errs = append(errs, field.Duplicate(path.Child("tolerations").Index(i), t))
				}
			}
		}
	}
	return errs
}

// ValidateRuntimeClassUpdate rejects changes of the handler.
func ValidateRuntimeClassUpdate(rc, old *nodev1.RuntimeClass) field.ErrorList {
	errs := objectMetaUpdate(&rc.ObjectMeta, &old.ObjectMeta)
	return append(errs, immutable(rc.Handler, old.Handler, field.NewPath("handler"))...)
}
