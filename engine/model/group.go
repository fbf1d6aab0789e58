package model

import "time"

// Namespace is a namespace with its labels.
type Namespace struct {
	Name   string
	Labels Labels
}

// SpreadGroup is a Service, ReplicationController, ReplicaSet or StatefulSet as far
// as default spreading reads it: whose pods belong together.
type SpreadGroup struct {
	Kind            string
	Namespace, Name string
	Selector        *Selector // nil matches no pod
}

// Budget is a PodDisruptionBudget.
type Budget struct {
	Namespace, Name string
	UID             string
	// Selector: nil and empty mean different things to different readers;
	// both are kept as they are.
	Selector *Selector
	// MinAvailable and MaxUnavailable are what the owner wants; at most one is set.
	MinAvailable, MaxUnavailable IntOrPercent
	// AlwaysAllowUnhealthy: pods that run and are not ready may be evicted whatever the
	// budget says (unhealthyPodEvictionPolicy). Else only while it is met.
	AlwaysAllowUnhealthy bool
	// Owned: it belongs to another object, so that a program may change it.
	Owned bool
	// SpecError is why the specification cannot be read, or empty.
	SpecError string

	DisruptionsAllowed int32
	Disrupted          []string    // names in status.disruptedPods, sorted
	DisruptedAt        []time.Time // when each of Disrupted was granted
	CurrentHealthy     int32
	DesiredHealthy     int32
	ExpectedPods       int32
	SyncError          string // why the status could not be made, or empty
	Generation         int64
	ObservedGeneration int64
	ResourceVersion    string
}

// IntOrPercent is a number of pods, or a percentage of those expected. The zero Amount is not set.
type IntOrPercent struct {
	Set     bool
	Percent bool
	Value   int32
}

// ScaledValue is the amount as a number of pods; a percentage is rounded up.
func (a IntOrPercent) ScaledValue(expected int32) int32 {
	if !a.Percent {
		return a.Value
	}
	return int32((int64(a.Value)*int64(expected) + 99) / 100)
}

// PriorityClass is a named priority.
type PriorityClass struct {
	Name          string
	Value         int32
	GlobalDefault bool
	NeverPreempts bool
}

// ResourceClaim is a claim on devices, as far as holding a pod needs it.
type ResourceClaim struct {
	Namespace, Name, UID string
	Owner                Owner // controller: the pod that it was made for, if it was
	Deleting             bool
}
