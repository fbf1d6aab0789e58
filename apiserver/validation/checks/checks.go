package checks

import (
	"cmp"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metavalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/berthproject/berth/apiserver/podvalidation"
)

// MetadataPath is the field path of the object metadata.
var MetadataPath = field.NewPath("metadata")

// ObjectMeta validates the metadata of a new object.
func ObjectMeta(m *metav1.ObjectMeta, namespaced bool, name apivalidation.ValidateNameFunc) field.ErrorList {
	return podvalidation.ValidateObjectMeta(m, namespaced, name, MetadataPath)
}

// ObjectMetaUpdate validates the metadata of an update.
func ObjectMetaUpdate(obj, old *metav1.ObjectMeta) field.ErrorList {
	return apivalidation.ValidateObjectMetaUpdate(obj, old, MetadataPath)
}

// NonNegative requires value >= 0.
func NonNegative[T ~int32 | ~int64](value T, path *field.Path) field.ErrorList {
	return apivalidation.ValidateNonnegativeField(int64(value), path)
}

// NonNegativeIfSet is NonNegative for an optional value.
func NonNegativeIfSet[T ~int32 | ~int64](value *T, path *field.Path) field.ErrorList {
	if value == nil {
		return nil
	}
	return NonNegative(*value, path)
}

// PositiveIfSet requires an optional value to be greater than 0.
func PositiveIfSet(value *int32, path *field.Path) field.ErrorList {
	if value != nil && *value <= 0 {
		return field.ErrorList{field.Invalid(path, *value, "must be greater than 0")}
	}
	return nil
}

// Immutable requires obj to equal old.
func Immutable(obj, old any, path *field.Path) field.ErrorList {
	return apivalidation.ValidateImmutableField(obj, old, path)
}

// SemanticEqual compares API values: quantities by value, and nil and empty lists as equal.
func SemanticEqual(a, b any) bool { return equality.Semantic.DeepEqual(a, b) }

// InvalidEach returns one error per message.
func InvalidEach(path *field.Path, value string, msgs []string) field.ErrorList {
	var errs field.ErrorList
	for _, msg := range msgs {
		errs = append(errs, field.Invalid(path, value, msg))
	}
	return errs
}

// DNSLabel requires an RFC 1123 label.
func DNSLabel(value string, path *field.Path) field.ErrorList {
	return InvalidEach(path, value, validation.IsDNS1123Label(value))
}

// DNSSubdomain requires an RFC 1123 subdomain.
func DNSSubdomain(value string, path *field.Path) field.ErrorList {
	return InvalidEach(path, value, validation.IsDNS1123Subdomain(value))
}

// QualifiedName requires a valid label key.
func QualifiedName(value string, path *field.Path) field.ErrorList {
	return InvalidEach(path, value, validation.IsQualifiedName(value))
}

// PortNumber requires a port from 1 to 65535.
func PortNumber(port int32, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for _, msg := range validation.IsValidPortNum(int(port)) {
		errs = append(errs, field.Invalid(path, port, msg))
	}
	return errs
}

// PortNumberOrName requires a port number or a container port name.
func PortNumberOrName(port intstr.IntOrString, path *field.Path) field.ErrorList {
	if port.Type == intstr.String {
		return InvalidEach(path, port.StrVal, validation.IsValidPortName(port.StrVal))
	}
	var errs field.ErrorList
	for _, msg := range validation.IsValidPortNum(port.IntValue()) {
		errs = append(errs, field.Invalid(path, port.IntValue(), msg))
	}
	return errs
}

// OneOf requires one of the values of set, which the error lists in the given order.
func OneOf[T ~string](value T, path *field.Path, set ...T) field.ErrorList {
	if slices.Contains(set, value) {
		return nil
	}
	return field.ErrorList{field.NotSupported(path, value, set)}
}

// CountOrPercent requires a non-negative number or a percentage such as "25%".
func CountOrPercent(value intstr.IntOrString, path *field.Path) field.ErrorList {
	if value.Type == intstr.String {
		return InvalidEach(path, value.StrVal, validation.IsValidPercent(value.StrVal))
	}
	return NonNegative(int64(value.IntValue()), path)
}

// NotAbove100Percent rejects percentages above 100. Numbers are not limited.
func NotAbove100Percent(value intstr.IntOrString, path *field.Path) field.ErrorList {
	if p, ok := Percent(value); ok && p > 100 {
		return field.ErrorList{field.Invalid(path, value, "must not be greater than 100%")}
	}
	return nil
}

// Percent parses "25%" as 25. It returns false for numbers and invalid percentages.
func Percent(value intstr.IntOrString) (int, bool) {
	if value.Type != intstr.String || len(validation.IsValidPercent(value.StrVal)) > 0 {
		return 0, false
	}
	p := intstr.FromString(value.StrVal)
	n, err := intstr.GetScaledValueFromIntOrPercent(&p, 100, true)
	return n, err == nil
}

// IsZeroCount reports whether a number or percentage is zero.
func IsZeroCount(value intstr.IntOrString) bool {
	if p, ok := Percent(value); ok {
		return p == 0
	}
	return value.Type == intstr.Int && value.IntValue() == 0
}

// LabelSelector validates a selector. allowInvalidValues allows invalid label values, which a stored object
// may have.
func LabelSelector(s *metav1.LabelSelector, allowInvalidValues bool, path *field.Path) field.ErrorList {
	opts := metavalidation.LabelSelectorValidationOptions{AllowInvalidLabelValueInSelector: allowInvalidValues}
	return metavalidation.ValidateLabelSelector(s, opts, path)
}

// IsEmptySelector reports whether a selector has no requirements.
func IsEmptySelector(s *metav1.LabelSelector) bool {
	return s == nil || len(s.MatchLabels)+len(s.MatchExpressions) == 0
}

// SortedKeys returns the sorted keys of m.
func SortedKeys[K cmp.Ordered, V any](m map[K]V) []K {
	return slices.Sorted(maps.Keys(m))
}
