package core

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/berthproject/berth/apiserver/podvalidation"
	"github.com/berthproject/berth/apiserver/podvalidation/poddefaults"
	"github.com/berthproject/berth/apiserver/podvalidation/podstrategy"
	"github.com/berthproject/berth/apiserver/podvalidation/podwarnings"
	"github.com/berthproject/berth/apiserver/validation/checks"
)

// DefaultPodTemplate sets the defaults of the template.
func DefaultPodTemplate(t *corev1.PodTemplate) { poddefaults.DefaultPodTemplate(&t.Template) }

// PreparePodTemplateForCreate clears fields of disabled feature gates.
func PreparePodTemplateForCreate(t *corev1.PodTemplate) {
	podstrategy.PrepareTemplate(&t.Template, nil)
}

// PreparePodTemplateForUpdate clears fields of disabled feature gates.
func PreparePodTemplateForUpdate(t, old *corev1.PodTemplate) {
	podstrategy.PrepareTemplate(&t.Template, &old.Template)
}

// ValidatePodTemplate validates a new PodTemplate.
func ValidatePodTemplate(t *corev1.PodTemplate) field.ErrorList {
	errs := checks.ObjectMeta(&t.ObjectMeta, true, apivalidation.NameIsDNSSubdomain)
	return append(errs, podvalidation.ValidatePodTemplateSpec(&t.Template, field.NewPath("template"))...)
}

// ValidatePodTemplateUpdate validates an update. All fields are mutable.
func ValidatePodTemplateUpdate(t, old *corev1.PodTemplate) field.ErrorList {
	errs := checks.ObjectMetaUpdate(&t.ObjectMeta, &old.ObjectMeta)
	return append(errs, podvalidation.ValidatePodTemplateSpec(&t.Template, field.NewPath("template"))...)
}

// PodTemplateWarnings returns warnings for the template.
func PodTemplateWarnings(ctx context.Context, t, old *corev1.PodTemplate) []string {
	if old == nil {
		return podwarnings.PodTemplateWarnings(ctx, field.NewPath("template"), &t.Template, nil)
	}
	return podwarnings.PodTemplateWarnings(ctx, field.NewPath("template"), &t.Template, &old.Template)
}
