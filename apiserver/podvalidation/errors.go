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

func (c *errorCollector) add(errs ...*field.Error) { c.errs = append(c.errs, errs...) }

func (c *errorCollector) invalid(path *field.Path, value any, reason string) {
	c.add(field.Invalid(path, value, reason))
}

// invalidEach adds one error per reason.
func (c *errorCollector) invalidEach(path *field.Path, value any, reasons []string) {
	for _, reason := range reasons {
		c.invalid(path, value, reason)
	}
}

func (c *errorCollector) required(path *field.Path, reason string) {
	c.add(field.Required(path, reason))
}
func (c *errorCollector) forbidden(path *field.Path, reason string) {
	c.add(field.Forbidden(path, reason))
}
func (c *errorCollector) duplicate(path *field.Path, value any) { c.add(field.Duplicate(path, value)) }
func (c *errorCollector) notFound(path *field.Path, value any)  { c.add(field.NotFound(path, value)) }

// validateDNSLabel requires an RFC 1123 label.
func (c *errorCollector) validateDNSLabel(value string, path *field.Path) {
	c.invalidEach(path, value, validation.IsDNS1123Label(value))
}

// validateQualifiedName requires a valid label key.
func (c *errorCollector) validateQualifiedName(value string, path *field.Path) {
	c.invalidEach(path, value, validation.IsQualifiedName(value))
}

// requireNonNegative requires value >= 0.
func (c *errorCollector) requireNonNegative(value int64, path *field.Path) {
	if value < 0 {
		c.invalid(path, value, "must be greater than or equal to 0")
	}
}

// requireNonEmpty requires a value and reports whether there is one.
func (c *errorCollector) requireNonEmpty(value string, path *field.Path) bool {
	if value == "" {
		c.required(path, "")
		return false
	}
	return true
}

// requireNonEmptyList requires a list of at least one entry.
func (c *errorCollector) requireNonEmptyList(count int, path *field.Path) {
	if count == 0 {
		c.required(path, "")
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
