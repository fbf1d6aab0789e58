package storage

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/berthproject/berth/apiserver/podvalidation/defaulting"
	"github.com/berthproject/berth/apiserver/podvalidation/podwarnings"
	"github.com/berthproject/berth/apiserver/validation/checks"
)

// Limits of the parameters of a class: their number, and the total length in bytes of keys and values.
const (
	maxParameters     = 512
	maxParametersSize = 256 * 1024
)

// DefaultStorageClass sets the reclaim policy Delete and immediate binding.
func DefaultStorageClass(sc *storagev1.StorageClass) {
	defaulting.SetPointer(&sc.ReclaimPolicy, corev1.PersistentVolumeReclaimDelete)
	defaulting.SetPointer(&sc.VolumeBindingMode, storagev1.VolumeBindingImmediate)
}

// ValidateStorageClass validates a new class.
func ValidateStorageClass(sc *storagev1.StorageClass) field.ErrorList {
	errs := checks.ObjectMeta(&sc.ObjectMeta, false, apivalidation.NameIsDNSSubdomain)
	errs = append(errs, validateProvisioner(sc.Provisioner, field.NewPath("provisioner"))...)
	errs = append(errs, validateParameters(sc.Parameters, field.NewPath("parameters"))...)
	if p := sc.ReclaimPolicy; p != nil && *p != "" {
		errs = append(errs, checks.OneOf(*p, field.NewPath("reclaimPolicy"), corev1.PersistentVolumeReclaimDelete, corev1.PersistentVolumeReclaimRetain)...)
	}
	modePath := field.NewPath("volumeBindingMode")
	if sc.VolumeBindingMode == nil {
		errs = append(errs, field.Required(modePath, ""))
	} else {
		errs = append(errs, checks.OneOf(*sc.VolumeBindingMode, modePath, storagev1.VolumeBindingImmediate, storagev1.VolumeBindingWaitForFirstConsumer)...)
	}
	return append(errs, validateAllowedTopologies(sc.AllowedTopologies, field.NewPath("allowedTopologies"))...)
}

// ValidateStorageClassUpdate rejects changes of parameters, provisioner, reclaim policy and binding
// mode.
func ValidateStorageClassUpdate(sc, old *storagev1.StorageClass) field.ErrorList {
	errs := checks.ObjectMetaUpdate(&sc.ObjectMeta, &old.ObjectMeta)
	errs = append(errs, checks.Immutable(sc.Parameters, old.Parameters, field.NewPath("parameters"))...)
	errs = append(errs, checks.Immutable(sc.Provisioner, old.Provisioner, field.NewPath("provisioner"))...)
	errs = append(errs, checks.Immutable(sc.ReclaimPolicy, old.ReclaimPolicy, field.NewPath("reclaimPolicy"))...)
	return append(errs, checks.Immutable(sc.VolumeBindingMode, old.VolumeBindingMode, field.NewPath("volumeBindingMode"))...)
}

func validateProvisioner(name string, path *field.Path) field.ErrorList {
	if name == "" {
		return field.ErrorList{field.Required(path, "")}
	}
	return checks.InvalidEach(path, strings.ToLower(name), validation.IsQualifiedName(strings.ToLower(name)))
}

func validateParameters(parameters map[string]string, path *field.Path) field.ErrorList {
	if len(parameters) > maxParameters {
		return field.ErrorList{field.TooLong(path, "Provisioner Parameters exceeded max allowed", maxParameters)}
	}
	var errs field.ErrorList
	size := 0
	for _, key := range checks.SortedKeys(parameters) {
		if key == "" {
			errs = append(errs, field.Invalid(path, key, "field can not be empty."))
		}
		size += len(key) + len(parameters[key])
	}
	if size > maxParametersSize {
		errs = append(errs, field.TooLong(path, "", maxParametersSize))
	}
	return errs
}

// validateAllowedTopologies requires unique keys per term, unique values per key, and unique terms.
func validateAllowedTopologies(terms []corev1.TopologySelectorTerm, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	var earlier []map[string]sets.Set[string]
	for i, term := range terms {
		termPath := path.Index(i)
		values := map[string]sets.Set[string]{}
		for j, e := range term.MatchLabelExpressions {
			itemPath := termPath.Child("matchLabelExpressions").Index(j)
			errs = append(errs, checks.QualifiedName(e.Key, itemPath.Child("key"))...)
			set := sets.New[string]()
			if len(e.Values) == 0 {
				errs = append(errs, field.Required(itemPath.Child("values"), ""))
			}
			for k, value := range e.Values {
				if set.Has(value) {
					errs = append(errs, field.Duplicate(itemPath.Child("values").Index(k), value))
				}
				set.Insert(value)
			}
			if _, duplicate := values[e.Key]; duplicate {
				errs = append(errs, field.Duplicate(itemPath.Child("key"), e.Key))
			}
			values[e.Key] = set
		}
		for _, other := range earlier {
			if checks.SemanticEqual(other, values) {
				errs = append(errs, field.Duplicate(termPath.Child("matchLabelExpressions"), ""))
			}
		}
		earlier = append(earlier, values)
	}
	return errs
}

// StorageClassWarnings warns of deprecated topology keys.
func StorageClassWarnings(_ context.Context, sc, _ *storagev1.StorageClass) []string {
	var warnings []string
	for i, term := range sc.AllowedTopologies {
		for j, e := range term.MatchLabelExpressions {
			if reason, ok := podwarnings.DeprecatedNodeLabels[e.Key]; ok {
				warnings = append(warnings, fmt.Sprintf("%s: %s is %s",
					field.NewPath("allowedTopologies").Index(i).Child("matchLabelExpressions").Index(j).Child("key"), e.Key, reason))
			}
		}
	}
	return warnings
}
