package podvalidation

import (
	"cmp"
	"iter"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// errorCollector collects what is wrong with an object, in the order in which it is found.
type errorCollector struct {
	errs field.ErrorList
}

func (r *errorCollector) add(errs ...*field.Error) { r.errs = append(r.errs, errs...) }

func (r *errorCollector) invalid(path *field.Path, value any, reason string) {
	r.add(field.Invalid(path, value, reason))
}

// invalidEach reports one value once for every reason that a name check gave.
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

// dnsLabel reports a value that is not an RFC 1123 label.
func (r *errorCollector) dnsLabel(value string, path *field.Path) {
	r.invalidEach(path, value, validation.IsDNS1123Label(value))
}

// qualifiedName reports a value that is not a label key.
func (r *errorCollector) qualifiedName(value string, path *field.Path) {
	r.invalidEach(path, value, validation.IsQualifiedName(value))
}

// nonNegative reports a negative count.
func (r *errorCollector) nonNegative(value int64, path *field.Path) {
	if value < 0 {
		r.invalid(path, value, "must be greater than or equal to 0")
	}
}

// nonEmpty reports a string that must be given and is not.
func (r *errorCollector) nonEmpty(value string, path *field.Path) bool {
	if value == "" {
		r.required(path, "")
		return false
	}
	return true
}

// oneOf reports a value outside an enumeration; supported is the order in which the message names it.
func oneOf[T ~string](r *errorCollector, value T, path *field.Path, supported ...T) bool {
	if slices.Contains(supported, value) {
		return true
	}
	r.add(field.NotSupported(path, value, supported))
	return false
}

// requiredOneOf is oneOf for an enumeration in which an empty value is a missing one.
func requiredOneOf[T ~string](r *errorCollector, value T, path *field.Path, supported ...T) bool {
	if value == "" {
		r.required(path, "")
		return false
	}
	return oneOf(r, value, path, supported...)
}

// nameSet finds repeated names in a list.
type nameSet map[string]bool

// add says whether the name is new.
func (s nameSet) add(name string) bool {
	if s[name] {
		return false
	}
	s[name] = true
	return true
}

// sortedByKey walks a map in the order of its keys, so that messages do not depend on Go's map order.
func sortedByKey[K cmp.Ordered, V any](m map[K]V) iter.Seq2[K, V] {
	return func(yield func(K, V) bool) {
		for _, key := range slices.Sorted(maps.Keys(m)) {
			if !yield(key, m[key]) {
				return
			}
		}
	}
}

// eachContainer walks init, regular and ephemeral containers in that order, with their paths below spec.
func eachContainer(spec *corev1.PodSpec, path *field.Path, visit func(*corev1.Container, *field.Path)) {
	for i := range spec.InitContainers {
		visit(&spec.InitContainers[i], path.Child("initContainers").Index(i))
	}
	for i := range spec.Containers {
		visit(&spec.Containers[i], path.Child("containers").Index(i))
	}
	for i := range spec.EphemeralContainers {
		common := &spec.EphemeralContainers[i].EphemeralContainerCommon
		visit((*corev1.Container)(common), path.Child("ephemeralContainers").Index(i))
	}
}

// isSidecar says whether an init container keeps running beside the regular ones.
func isSidecar(c *corev1.Container) bool {
	return c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways
}

func deref[T any](p *T) T {
	var zero T
	if p == nil {
		return zero
	}
	return *p
}

func setDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

func setDefaultPtr[T any](field **T, value T) {
	if *field == nil {
		*field = &value
	}
}
