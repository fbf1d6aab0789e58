package model

// Node is what scheduling reads of a node.
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
	Features        []string // declared features, sorted
	Ready           bool
	Pressures       [NumPressures]PressureCondition
	ResourceVersion string
}

// Image is an image present on a node.
type Image struct {
	Names []string // all names and digests, normalised
	Size  int64    // bytes
}

// Effect is what a taint does.
type Effect uint8

// The effects. AnyEffect is for tolerations only.
const (
	AnyEffect Effect = iota
	NoSchedule
	PreferNoSchedule
	NoExecute
)

// String is the effect's name in the API.
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

// TolerationOp is how a toleration compares.
type TolerationOp uint8

// The comparisons. TolLt and TolGt compare the toleration's value with the
// taint's as integers (alpha upstream; an option here).
const (
	TolEqual TolerationOp = iota
	TolExists
	TolLt
	TolGt
	TolInvalid // an operator that is not known tolerates nothing
)

// Toleration lets a pod stay despite matching taints.
type Toleration struct {
	Key    string // empty with TolExists: every key
	Op     TolerationOp
	Value  string
	Effect Effect // AnyEffect: every effect
	// Seconds a NoExecute taint is borne; nil is for ever.
	Seconds *int64
}
