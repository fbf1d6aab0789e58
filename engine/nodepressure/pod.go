package nodepressure

import (
	"time"

	"github.com/berthproject/berth/engine/model"
)

// Pod is a pod that runs on the node.
type Pod struct {
	*model.Pod
	EvictionSpec *EvictionSpec
	Stats        *PodStats // nil: nothing is known of it
	// TerminatesBy is the end of its grace period while it is being ended; zero: it is not.
	TerminatesBy time.Time
}

// EvictionSpec is what pressure reads of a pod's specification beyond model.PodSpec, made by
// intake.PressureTerms. Pods of one specification may share it.
type EvictionSpec struct {
	Static bool   // it does not come from the API
	Grace  *int64 // spec.terminationGracePeriodSeconds
	// PodMemory is the pod-level memory request; nil: it has none.
	PodMemory *Quantity
	// Overhead is what the sandbox takes; model.PodSpec.Requests have it in.
	Overhead model.Resources
	// EphemeralLimit is the sum of the limits of local storage; nil: none is set.
	EphemeralLimit *Quantity
	Containers     []Container // containers, then init containers
	Volumes        []Volume
}

// Container is what a container asks for, as messages print it.
type Container struct {
	Name              string
	Memory, Ephemeral Quantity  // requests; 0 when it has none
	EphemeralLimit    *Quantity // nil: none
	Init              bool
}

// Volume is a volume as far as it holds data of the node.
type Volume struct {
	Name  string
	Local bool // it lies on nodefs: emptyDir but in memory, hostPath, configMap, ...
	// SizeLimit of an emptyDir; nil: none.
	SizeLimit *Quantity
}

// effectiveRequest is a request as it counts here: a pod that asks for nothing is not taken to ask for
// what its sandbox needs.
func (p *Pod) effectiveRequest(request, overhead int64) int64 {
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

// CriticalPriority is the priority from which on a pod is critical:
// that of system-cluster-critical.
const CriticalPriority = 2_000_000_000

// Critical says that the pod is never evicted by pressure, and is always taken under
// it: static and mirror pods, and those of the system's priority classes. t may be nil.
func Critical(p *model.Pod, t *EvictionSpec) bool {
	return p.Mirror || t != nil && t.Static || p.Spec.Priority >= CriticalPriority
}
