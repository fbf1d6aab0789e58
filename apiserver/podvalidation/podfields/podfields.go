package podfields

import (
	"cmp"
	"iter"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// JSON names of affinity terms.
const (
	RequiredTerms  = "requiredDuringSchedulingIgnoredDuringExecution"
	PreferredTerms = "preferredDuringSchedulingIgnoredDuringExecution"
)

// NameSet detects duplicate names.
type NameSet map[string]bool

// Add adds name and reports whether it was new.
func (s NameSet) Add(name string) bool {
	if s[name] {
		return false
	}
	s[name] = true
	return true
}

// SortedByKey iterates over a map in key order, so that messages are deterministic.
func SortedByKey[K cmp.Ordered, V any](m map[K]V) iter.Seq2[K, V] {
	return func(yield func(K, V) bool) {
		for _, key := range slices.Sorted(maps.Keys(m)) {
			if !yield(key, m[key]) {
				return
			}
		}
	}
}

// EachContainer calls visit for init, regular and ephemeral containers, in this order, with their
// paths below spec.
func EachContainer(spec *corev1.PodSpec, path *field.Path, visit func(*corev1.Container, *field.Path)) {
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

// IsSidecar reports whether an init container is a sidecar (restartPolicy Always).
func IsSidecar(c *corev1.Container) bool {
	return c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways
}

// Deref returns *p, or the zero value if p is nil.
func Deref[T any](p *T) T {
	var zero T
	if p == nil {
		return zero
	}
	return *p
}

// HasKey reports whether m has the key.
func HasKey(m map[string]string, key string) bool {
	_, ok := m[key]
	return ok
}

// NodeAffinityOf returns the node affinity of a pod spec, or nil.
func NodeAffinityOf(spec *corev1.PodSpec) *corev1.NodeAffinity {
	if spec.Affinity == nil {
		return nil
	}
	return spec.Affinity.NodeAffinity
}

// IsHugePage reports whether the resource is a huge page size.
func IsHugePage(name corev1.ResourceName) bool {
	return strings.HasPrefix(string(name), corev1.ResourceHugePagesPrefix)
}

// AppArmorFromAnnotation returns the profile of a deprecated annotation value, or nil if it is
// invalid.
func AppArmorFromAnnotation(value string) *corev1.AppArmorProfile {
	switch value {
	case corev1.DeprecatedAppArmorBetaProfileRuntimeDefault:
		return &corev1.AppArmorProfile{Type: corev1.AppArmorProfileTypeRuntimeDefault}
	case corev1.DeprecatedAppArmorBetaProfileNameUnconfined:
		return &corev1.AppArmorProfile{Type: corev1.AppArmorProfileTypeUnconfined}
	}
	name, ok := strings.CutPrefix(value, corev1.DeprecatedAppArmorBetaProfileNamePrefix)
	if !ok || name == "" {
		return nil
	}
	return &corev1.AppArmorProfile{Type: corev1.AppArmorProfileTypeLocalhost, LocalhostProfile: &name}
}
