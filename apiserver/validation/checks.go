package validation

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metavalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/berthproject/berth/apiserver/podvalidation"
)

var metadataPath = field.NewPath("metadata")

// objectMeta validates the metadata of a new object.
func objectMeta(m *metav1.ObjectMeta, namespaced bool, name apivalidation.ValidateNameFunc) field.ErrorList {
	return podvalidation.ValidateObjectMeta(m, namespaced, name, metadataPath)
}

// objectMetaUpdate validates the metadata of an update.
func objectMetaUpdate(obj, old *metav1.ObjectMeta) field.ErrorList {
	return apivalidation.ValidateObjectMetaUpdate(obj, old, metadataPath)
}

// unqualifiedFinalizer requires an unqualified finalizer to be one of the three standard ones.
func unqualifiedFinalizer(name string, path *field.Path) field.ErrorList {
	if strings.Contains(name, "/") {
		return nil
	}
	switch name {
	case string(corev1.FinalizerKubernetes), metav1.FinalizerOrphanDependents, metav1.FinalizerDeleteDependents:
		return nil
	}
	return field.ErrorList{field.Invalid(path, name, "name is neither a standard finalizer name nor is it fully qualified")}
}

func nonNegative[T ~int32 | ~int64](value T, path *field.Path) field.ErrorList {
	return apivalidation.ValidateNonnegativeField(int64(value), path)
}

// nonNegativeIfSet is nonNegative for an optional value.
func nonNegativeIfSet[T ~int32 | ~int64](value *T, path *field.Path) field.ErrorList {
	if value == nil {
		return nil
	}
	return nonNegative(*value, path)
}

func positiveIfSet(value *int32, path *field.Path) field.ErrorList {
	if value != nil && *value <= 0 {
		return field.ErrorList{field.Invalid(path, *value, "must be greater than 0")}
	}
	return nil
}

func immutable(obj, old any, path *field.Path) field.ErrorList {
	return apivalidation.ValidateImmutableField(obj, old, path)
}

func semanticEqual(a, b any) bool { return equality.Semantic.DeepEqual(a, b) }

// invalidEach returns one error per text.
func invalidEach(path *field.Path, value string, texts []string) field.ErrorList {
	var errs field.ErrorList
	for _, text := range texts {
		errs = append(errs, field.Invalid(path, value, text))
	}
	return errs
}

func dnsLabel(value string, path *field.Path) field.ErrorList {
	return invalidEach(path, value, validation.IsDNS1123Label(value))
}

func dnsSubdomain(value string, path *field.Path) field.ErrorList {
	return invalidEach(path, value, validation.IsDNS1123Subdomain(value))
}

func qualifiedName(value string, path *field.Path) field.ErrorList {
	return invalidEach(path, value, validation.IsQualifiedName(value))
}

// portNumber requires a port from 1 to 65535.
func portNumber(port int32, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for _, text := range validation.IsValidPortNum(int(port)) {
		errs = append(errs, field.Invalid(path, port, text))
	}
	return errs
}

// portNumberOrName requires a port number or a container port name.
func portNumberOrName(port intstr.IntOrString, path *field.Path) field.ErrorList {
	if port.Type == intstr.String {
		return invalidEach(path, port.StrVal, validation.IsValidPortName(port.StrVal))
	}
	var errs field.ErrorList
	for _, text := range validation.IsValidPortNum(port.IntValue()) {
		errs = append(errs, field.Invalid(path, port.IntValue(), text))
	}
	return errs
}

// oneOf requires one of the values of set, which the error lists in the given order.
func oneOf[T ~string](value T, path *field.Path, set ...T) field.ErrorList {
	if slices.Contains(set, value) {
		return nil
	}
	return field.ErrorList{field.NotSupported(path, value, set)}
}

// countOrPercent requires a non-negative number or a percentage such as "25%".
func countOrPercent(value intstr.IntOrString, path *field.Path) field.ErrorList {
	if value.Type == intstr.String {
		return invalidEach(path, value.StrVal, validation.IsValidPercent(value.StrVal))
	}
	return nonNegative(int64(value.IntValue()), path)
}

// notAbove100Percent rejects percentages above 100. Numbers are not limited.
func notAbove100Percent(value intstr.IntOrString, path *field.Path) field.ErrorList {
	if p, ok := percent(value); ok && p > 100 {
		return field.ErrorList{field.Invalid(path, value, "must not be greater than 100%")}
	}
	return nil
}

// percent parses "25%" as 25.
func percent(value intstr.IntOrString) (int, bool) {
	if value.Type != intstr.String || len(validation.IsValidPercent(value.StrVal)) > 0 {
		return 0, false
	}
	p := intstr.FromString(value.StrVal)
	n, err := intstr.GetScaledValueFromIntOrPercent(&p, 100, true)
	return n, err == nil
}

// isZeroCount reports whether a number or percentage is zero.
func isZeroCount(value intstr.IntOrString) bool {
	if p, ok := percent(value); ok {
		return p == 0
	}
	return value.Type == intstr.Int && value.IntValue() == 0
}

// labelSelector validates a selector. badValues allows invalid label values, which a stored object
// may have.
func labelSelector(s *metav1.LabelSelector, badValues bool, path *field.Path) field.ErrorList {
	opts := metavalidation.LabelSelectorValidationOptions{AllowInvalidLabelValueInSelector: badValues}
	return metavalidation.ValidateLabelSelector(s, opts, path)
}

func emptySelector(s *metav1.LabelSelector) bool {
	return s == nil || len(s.MatchLabels)+len(s.MatchExpressions) == 0
}

func sortedKeys[K cmp.Ordered, V any](m map[K]V) []K {
	return slices.Sorted(maps.Keys(m))
}

func setDefault[T comparable](value *T, standard T) {
	var zero T
	if *value == zero {
		*value = standard
	}
}

func setDefaultPointer[T any](value **T, standard T) {
	if *value == nil {
		*value = &standard
	}
}
