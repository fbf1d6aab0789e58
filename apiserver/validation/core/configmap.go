package core

import (
	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/berthproject/berth/apiserver/validation/checks"
)

const immutableFieldText = "field is immutable when `immutable` is set"

// ValidateConfigMap validates the keys, which must be unique over data and binaryData, and the
// total size of at most 1 MiB.
func ValidateConfigMap(cm *corev1.ConfigMap) field.ErrorList {
	errs := checks.ObjectMeta(&cm.ObjectMeta, true, apivalidation.NameIsDNSSubdomain)
	total := 0
	data, binary := field.NewPath("data"), field.NewPath("binaryData")
	for _, key := range checks.SortedKeys(cm.Data) {
		errs = append(errs, checks.InvalidEach(data.Key(key), key, validation.IsConfigMapKey(key))...)
		if _, found := cm.BinaryData[key]; found {
			errs = append(errs, field.Invalid(data.Key(key), key, "duplicate of key present in binaryData"))
		}
		total += len(cm.Data[key])
	}
	for _, key := range checks.SortedKeys(cm.BinaryData) {
		errs = append(errs, checks.InvalidEach(binary.Key(key), key, validation.IsConfigMapKey(key))...)
		total += len(cm.BinaryData[key])
	}
	if total > corev1.MaxSecretSize {
		errs = append(errs, field.TooLong(field.NewPath(""), "", corev1.MaxSecretSize))
	}
	return errs
}

// ValidateConfigMapUpdate rejects changes of an immutable ConfigMap.
func ValidateConfigMapUpdate(cm, old *corev1.ConfigMap) field.ErrorList {
	errs := checks.ObjectMetaUpdate(&cm.ObjectMeta, &old.ObjectMeta)
	if isImmutable(old.Immutable) {
		if !isImmutable(cm.Immutable) {
			errs = append(errs, field.Forbidden(field.NewPath("immutable"), immutableFieldText))
		}
		if !checks.SemanticEqual(cm.Data, old.Data) {
			errs = append(errs, field.Forbidden(field.NewPath("data"), immutableFieldText))
		}
		if !checks.SemanticEqual(cm.BinaryData, old.BinaryData) {
			errs = append(errs, field.Forbidden(field.NewPath("binaryData"), immutableFieldText))
		}
	}
	return append(errs, ValidateConfigMap(cm)...)
}

func isImmutable(flag *bool) bool { return flag != nil && *flag }
