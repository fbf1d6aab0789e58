package podvalidation

import (
	"slices"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// errorCollector collects field errors in the order in which they are found.
type errorCollector struct {
	errs field.ErrorList
}

func (r *errorCollector) add(errs ...*field.Error) { r.errs = append(r.errs, errs...) }

func (r *errorCollector) invalid(path *field.Path, value any, reason string) {
	r.add(field.Invalid(path, value, reason))
}

// invalidEach adds one error per reason.
func (r *errorCollector) invalidEach(path *field.Path, value any, reasons []string) {
	for _, reason := range reasons {
		r.invalid(path, value, reason)
	}
}

func (r *errorCollector) required(path *field.Path, reason string) {
	r.add(field.Required(path, reason))
}
func (r *errorCollector) forbidden(path *field.Path, reason string) {
	r.add(field.Forbidden(path, reason))
}
func (r *errorCollector) duplicate(path *field.Path, value any) { r.add(field.Duplicate(path, value)) }
func (r *errorCollector) notFound(path *field.Path, value any)  { r.add(field.NotFound(path, value)) }

// validateDNSLabel requires an RFC 1123 label.
func (r *errorCollector) validateDNSLabel(value string, path *field.Path) {
	r.invalidEach(path, value, validation.IsDNS1123Label(value))
}

// validateQualifiedName requires a valid label key.
func (r *errorCollector) validateQualifiedName(value string, path *field.Path) {
	r.invalidEach(path, value, validation.IsQualifiedName(value))
}

// requireNonNegative requires value >= 0.
func (r *errorCollector) requireNonNegative(value int64, path *field.Path) {
	if value < 0 {
		r.invalid(path, value, "must be greater than or equal to 0")
	}
}

// requireNonEmpty requires a value and reports whether there is one.
func (r *errorCollector) requireNonEmpty(value string, path *field.Path) bool {
	if value == "" {
		r.required(path, "")
		return false
	}
	return true
}

// requireNonEmptyList requires a list of at least one entry.
func (r *errorCollector) requireNonEmptyList(count int, path *field.Path) {
	if count == 0 {
		r.required(path, "")
	}
}

// validateOneOf requires one of the supported values, which the error lists in the given order.
func validateOneOf[T ~string](r *errorCollector, value T, path *field.Path, supported ...T) bool {
	if slices.Contains(supported, value) {
		return true
	}
	r.add(field.NotSupported(path, value, supported))
	return false
}

// requireOneOf is validateOneOf for required values.
func requireOneOf[T ~string](r *errorCollector, value T, path *field.Path, supported ...T) bool {
	if value == "" {
		r.required(path, "")
		return false
	}
	return validateOneOf(r, value, path, supported...)
}
