package runtime

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"
)

// Resources are the resources of a pod that a resize can change.
type Resources struct {
	// Pod is spec.resources.
	Pod *corev1.ResourceRequirements `json:"pod,omitempty"`
	// Containers has the resources of containers and sidecars, by name.
	Containers map[string]corev1.ResourceRequirements `json:"containers"`
}

// SpecResources returns the resources in the pod's specification.
func SpecResources(pod *corev1.Pod) Resources {
	out := Resources{Pod: pod.Spec.Resources, Containers: make(map[string]corev1.ResourceRequirements, len(pod.Spec.Containers))}
	for c := range resizableContainers(&pod.Spec) {
		out.Containers[c.Name] = c.Resources
	}
	return out
}

// Clone returns a copy. The quantities are shared, because they are immutable.
func (r Resources) Clone() Resources {
	r.Containers = maps.Clone(r.Containers)
	if r.Containers == nil {
		r.Containers = map[string]corev1.ResourceRequirements{}
	}
	return r
}

// Equal reports whether r and other have equal resources. Quantities are compared by value.
func (r Resources) Equal(other Resources) bool { return equality.Semantic.DeepEqual(r, other) }

// ApplyTo returns the pod with these resources in its specification: the pod itself if they are
// equal, otherwise a copy. Containers without an entry keep their resources.
func (r Resources) ApplyTo(pod *corev1.Pod) *corev1.Pod {
	if r.Equal(SpecResources(pod)) {
		return pod
	}
	out := *pod
	out.Spec.Resources = r.Pod
	out.Spec.Containers, out.Spec.InitContainers = slices.Clone(pod.Spec.Containers), slices.Clone(pod.Spec.InitContainers)
	for c := range resizableContainers(&out.Spec) {
		if resources, ok := r.Containers[c.Name]; ok {
			c.Resources = resources
		}
	}
	return &out
}

// resizableContainers yields the containers and sidecars of a pod.
func resizableContainers(spec *corev1.PodSpec) func(yield func(*corev1.Container) bool) {
	return func(yield func(*corev1.Container) bool) {
		for i := range spec.InitContainers {
			c := &spec.InitContainers[i]
			if c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways && !yield(c) {
				return
			}
		}
		for i := range spec.Containers {
			if !yield(&spec.Containers[i]) {
				return
			}
		}
	}
}

// ResizeRestarts reports whether a running container must restart to change its resources from
// "from" to those of c. It must if a changed resource has the resizePolicy RestartContainer.
func ResizeRestarts(c *corev1.Container, from corev1.ResourceRequirements) bool {
	return slices.ContainsFunc(c.ResizePolicy, func(p corev1.ContainerResizePolicy) bool {
		return p.RestartPolicy == corev1.RestartContainer && ResourceChanged(from, c.Resources, p.ResourceName)
	})
}

// ResourceChanged reports whether the request or limit of the named resource differs between from and to.
func ResourceChanged(from, to corev1.ResourceRequirements, name corev1.ResourceName) bool {
	return !equalQuantity(from.Requests, to.Requests, name) || !equalQuantity(from.Limits, to.Limits, name)
}

func equalQuantity(a, b corev1.ResourceList, name corev1.ResourceName) bool {
	x, inA := a[name]
	y, inB := b[name]
	return inA == inB && x.Cmp(y) == 0
}

// WithResource returns a copy of from that has the request and limit of the named resource in to.
func WithResource(from, to corev1.ResourceRequirements, name corev1.ResourceName) corev1.ResourceRequirements {
	from.Requests = withQuantity(from.Requests, to.Requests, name)
	from.Limits = withQuantity(from.Limits, to.Limits, name)
	return from
}

func withQuantity(from, to corev1.ResourceList, name corev1.ResourceName) corev1.ResourceList {
	out := maps.Clone(from)
	q, ok := to[name]
	if !ok {
		delete(out, name)
		return out
	}
	if out == nil {
		out = map[corev1.ResourceName]resource.Quantity{}
	}
	out[name] = q
	return out
}
