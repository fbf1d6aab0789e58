package nodepressure

import (
	"time"

	"github.com/berthproject/berth/engine/model"
)

// Pod is a pod that runs on the node.
type Pod struct {
	*model.Pod
	EvictionSpec *EvictionSpec
	Stats        *PodStats // nil: unknown
	// TerminatesBy is the end of the grace period of a terminating pod; zero: it is not terminating.
	TerminatesBy time.Time
}

// EvictionSpec holds the properties of a pod's specification that eviction reads beyond model.PodSpec. Pods of one
// specification may share it. Package conversion creates it.
type EvictionSpec struct {
	Static bool   // the pod does not come from the API
	Grace  *int64 // spec.terminationGracePeriodSeconds
	// PodMemory is the pod-level memory request, or nil.
	PodMemory *Quantity
	// Overhead is spec.overhead, which model.PodSpec.Requests includes.
	Overhead model.Resources
	// EphemeralLimit is the pod's limit of ephemeral storage, or nil.
	EphemeralLimit *Quantity
	Containers     []Container // containers, then init containers
	Volumes        []Volume
}

// Container holds the requests and limits of a container, as messages print them.
type Container struct {
	Name              string
	Memory, Ephemeral Quantity  // requests; 0: none
	EphemeralLimit    *Quantity // nil: none
	Init              bool
}

// Volume is a volume whose data may be on the node.
type Volume struct {
	Name  string
	Local bool // on nodefs: emptyDir not in memory, hostPath, configMap, ...
	// SizeLimit of an emptyDir, or nil.
	SizeLimit *Quantity
}

// effectiveRequest returns a request, or 0 if it consists only of the pod's overhead.
func effectiveRequest(request, overhead int64) int64 {
	if request == overhead {
		return 0
	}
	return request
}

func (p *Pod) overhead() *model.Resources {
	if p.EvictionSpec == nil {
		return &model.Resources{}
	}
	return &p.EvictionSpec.Overhead
}

// Critical reports whether a pod is exempt from eviction and always admitted. Critical pods are
// static pods, mirror pods, and pods of at least model.SystemCriticalPriority. spec may be nil.
func Critical(p *model.Pod, spec *EvictionSpec) bool {
	return p.Mirror || spec != nil && spec.Static || p.Spec.Priority >= model.SystemCriticalPriority
}
