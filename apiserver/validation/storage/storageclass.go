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

	"github.com/berthproject/berth/apiserver/validation/checks"
)

const (
	maxParameters     = 512
	maxParametersSize = 256 * 1024
)

// DefaultStorageClass sets the reclaim policy Delete and immediate binding.
func DefaultStorageClass(sc *storagev1.StorageClass) {
	checks.SetDefaultPointer(&sc.ReclaimPolicy, corev1.PersistentVolumeReclaimDelete)
	checks.SetDefaultPointer(&sc.VolumeBindingMode, storagev1.VolumeBindingImmediate)
}

// ValidateStorageClass validates a new class.
func ValidateStorageClass(sc *storagev1.StorageClass) field.ErrorList {
	errs := checks.ObjectMeta(&sc.ObjectMeta, false, apivalidation.NameIsDNSSubdomain)
	errs = append(errs, provisioner(sc.Provisioner, field.NewPath("provisioner"))...)
	errs = append(errs, parameters(sc.Parameters, field.NewPath("parameters"))...)
	if p := sc.ReclaimPolicy; p != nil && *p != "" {
		errs = append(errs, checks.OneOf(*p, field.NewPath("reclaimPolicy"), corev1.PersistentVolumeReclaimDelete, corev1.PersistentVolumeReclaimRetain)...)
	}
	mode := field.NewPath("volumeBindingMode")
	if sc.VolumeBindingMode == nil {
		errs = append(errs, field.Required(mode, ""))
	} else {
		errs = append(errs, checks.OneOf(*sc.VolumeBindingMode, mode, storagev1.VolumeBindingImmediate, storagev1.VolumeBindingWaitForFirstConsumer)...)
	}
	return append(errs, allowedTopologies(sc.AllowedTopologies, field.NewPath("allowedTopologies"))...)
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

func provisioner(name string, path *field.Path) field.ErrorList {
	if name == "" {
		return field.ErrorList{field.Required(path, "")}
	}
	return checks.InvalidEach(path, strings.ToLower(name), validation.IsQualifiedName(strings.ToLower(name)))
}

func parameters(list map[string]string, path *field.Path) field.ErrorList {
	if len(list) > maxParameters {
		return field.ErrorList{field.TooLong(path, "Provisioner Parameters exceeded max allowed", maxParameters)}
	}
	var errs field.ErrorList
	size := 0
	for _, key := range checks.SortedKeys(list) {
		if key == "" {
			errs = append(errs, field.Invalid(path, key, "field can not be empty."))
		}
		size += len(key) + len(list[key])
	}
	if size > maxParametersSize {
		errs = append(errs, field.TooLong(path, "", maxParametersSize))
	}
	return errs
}

// allowedTopologies requires unique keys per term, unique values per key, and unique terms.
func allowedTopologies(terms []corev1.TopologySelectorTerm, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	var before []map[string]sets.Set[string]
	for i, term := range terms {
		path := path.Index(i)
		values := map[string]sets.Set[string]{}
		for j, e := range term.MatchLabelExpressions {
			at := path.Child("matchLabelExpressions").Index(j)
			errs = append(errs, checks.QualifiedName(e.Key, at.Child("key"))...)
			set := sets.New[string]()
			if len(e.Values) == 0 {
				errs = append(errs, field.Required(at.Child("values"), ""))
			}
			for k, value := range e.Values {
				if set.Has(value) {
					errs = append(errs, field.Duplicate(at.Child("values").Index(k), value))
				}
				set.Insert(value)
			}
			if _, duplicate := values[e.Key]; duplicate {
				errs = append(errs, field.Duplicate(at.Child("key"), e.Key))
			}
			values[e.Key] = set
		}
		for _, other := range before {
			if checks.SemanticEqual(other, values) {
				errs = append(errs, field.Duplicate(path.Child("matchLabelExpressions"), ""))
			}
		}
		before = append(before, values)
	}
	return errs
}

// StorageClassWarnings warns of deprecated topology keys.
func StorageClassWarnings(_ context.Context, sc, _ *storagev1.StorageClass) []string {
	var warnings []string
	for i, term := range sc.AllowedTopologies {
		for j, e := range term.MatchLabelExpressions {
			if successor := deprecatedNodeLabels[e.Key]; successor != "" {
				warnings = append(warnings, fmt.Sprintf("%s: %s is deprecated since %s",
					field.NewPath("allowedTopologies").Index(i).Child("matchLabelExpressions").Index(j).Child("key"), e.Key, successor))
			}
		}
	}
	return warnings
}

// deprecatedNodeLabels maps deprecated labels to the text of the warning.
var deprecatedNodeLabels = map[string]string{
	"beta.kubernetes.io/arch":                  `v1.14; use "kubernetes.io/arch" instead`,
	"beta.kubernetes.io/os":                    `v1.14; use "kubernetes.io/os" instead`,
	"failure-domain.beta.kubernetes.io/region": `v1.17; use "topology.kubernetes.io/region" instead`,
	"failure-domain.beta.kubernetes.io/zone":   `v1.17; use "topology.kubernetes.io/zone" instead`,
	"beta.kubernetes.io/instance-type":         `v1.17; use "node.kubernetes.io/instance-type" instead`,
}

// ValidateVolumeAttributesClass validates a new class.
func ValidateVolumeAttributesClass(c *storagev1.VolumeAttributesClass) field.ErrorList {
	errs := checks.ObjectMeta(&c.ObjectMeta, false, apivalidation.NameIsDNSSubdomain)
	errs = append(errs, provisioner(c.DriverName, field.NewPath("driverName"))...)
	if len(c.Parameters) == 0 {
		return append(errs, field.Required(field.NewPath("parameters"), "must contain at least one key/value pair"))
	}
	return append(errs, parameters(c.Parameters, field.NewPath("parameters"))...)
}

// ValidateVolumeAttributesClassUpdate rejects changes of driver and parameters.
func ValidateVolumeAttributesClassUpdate(c, old *storagev1.VolumeAttributesClass) field.ErrorList {
	errs := checks.ObjectMetaUpdate(&c.ObjectMeta, &old.ObjectMeta)
	errs = append(errs, checks.Immutable(c.DriverName, old.DriverName, field.NewPath("driverName"))...)
	return append(errs, checks.Immutable(c.Parameters, old.Parameters, field.NewPath("parameters"))...)
}
