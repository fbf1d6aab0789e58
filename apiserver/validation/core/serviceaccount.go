package core

import (
	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/berthproject/berth/apiserver/validation/checks"
)

// PrepareServiceAccountForCreate drops all fields of secret references except the name.
func PrepareServiceAccountForCreate(sa *corev1.ServiceAccount) {
	for i, ref := range sa.Secrets {
		sa.Secrets[i] = corev1.ObjectReference{Name: ref.Name}
	}
}

// PrepareServiceAccountForUpdate drops all fields of secret references except the name.
func PrepareServiceAccountForUpdate(sa, _ *corev1.ServiceAccount) {
	PrepareServiceAccountForCreate(sa)
}

// ValidateServiceAccount validates the metadata.
func ValidateServiceAccount(sa *corev1.ServiceAccount) field.ErrorList {
	return checks.ObjectMeta(&sa.ObjectMeta, true, apivalidation.ValidateServiceAccountName)
}

// ValidateServiceAccountUpdate validates the metadata.
func ValidateServiceAccountUpdate(sa, old *corev1.ServiceAccount) field.ErrorList {
	return append(checks.ObjectMetaUpdate(&sa.ObjectMeta, &old.ObjectMeta), ValidateServiceAccount(sa)...)
}
