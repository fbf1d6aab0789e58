package model

// Node is a node as scheduling reads it.
type Node struct {
	Name            string
	UID             string
	Labels          Labels
	Taints          []Taint
	Unschedulable   bool
	Allocatable     Resources
	AllocatablePods int64 // allocatable number of pods
	Capacity        Resources
	Images          []Image
	Features        []string // sorted
	// NoResizePreemption is set if no pod may be preempted for the resize of a pod on the node
	// (spec.podPreemptionPolicy.disableResizePreemption).
	NoResizePreemption bool
	Ready              bool
	Pressures          [NumPressures]PressureCondition
	ResourceVersion    string
}

// Image is an image present on a node.
type Image struct {
	Names []string // all names and digests, normalized
	Size  int64    // bytes
}

// Effect is the effect of a taint.
type Effect uint8

// The effects. AnyEffect exists in tolerations only.
const (
	AnyEffect Effect = iota
	NoSchedule
	PreferNoSchedule
	NoExecute
)

// String returns the name of the effect in the API.
func (e Effect) String() string {
	switch e {
	case NoSchedule:
		return "NoSchedule"
	case PreferNoSchedule:
		return "PreferNoSchedule"
	case NoExecute:
		return "NoExecute"
	}
	return ""
}

// Taint repels pods from a node.
type Taint struct {
	Key, Value string
	Effect     Effect
}

// TolerationOp is the operator of a toleration.
type TolerationOp uint8

// The operators. TolLt and TolGt compare the values of toleration and taint as integers
// (alpha in Kubernetes; an option here).
const (
	TolEqual TolerationOp = iota
	TolExists
	TolLt
	TolGt
	TolInvalid // unknown operator; tolerates nothing
)

// Toleration allows a pod on nodes with matching taints.
type Toleration struct {
	Key    string // empty with TolExists: all keys
	Op     TolerationOp
	Value  string
	Effect Effect // AnyEffect: all effects
	// Seconds is how long the pod stays bound after a NoExecute taint is added; nil: forever.
	Seconds *int64
}
