package model

import "time"

// Namespace is a namespace with its labels.
type Namespace struct {
	Name   string
	Labels Labels
}

// SpreadGroup is a Service, ReplicationController, ReplicaSet or StatefulSet as default
// topology spreading reads it.
type SpreadGroup struct {
	Kind            string
	Namespace, Name string
	Selector        *Selector // nil matches no pod
}

// Budget is a PodDisruptionBudget.
type Budget struct {
	Namespace, Name string
	UID             string
	// Selector selects the pods of the namespace; nil selects none. The budget.Rule determines whether an empty one
	// selects all.
	Selector *Selector
	// MinAvailable and MaxUnavailable are from the specification; at most one is set.
	MinAvailable, MaxUnavailable IntOrPercent
	// AlwaysAllowUnhealthy is set if unhealthyPodEvictionPolicy is AlwaysAllow: running pods
	// that are not ready may be evicted regardless of the budget.
	AlwaysAllowUnhealthy bool
	// Owned is set if the budget has an owner reference, so an operator may change it.
	Owned bool
	// SpecError is why the specification is invalid, or empty.
	SpecError string

	DisruptionsAllowed int32
	Disrupted          []string    // names in status.disruptedPods, sorted
	DisruptedAt        []time.Time // times of Disrupted
	CurrentHealthy     int32
	DesiredHealthy     int32
	ExpectedPods       int32
	SyncError          string // why the last sync of the status failed, or empty
	Generation         int64
	ObservedGeneration int64
	ResourceVersion    string
}

// IntOrPercent is a number of pods, or a percentage of the expected pods. The zero value
// is not set.
type IntOrPercent struct {
	Set     bool
	Percent bool
	Value   int32
}

// ScaledValue returns the number of pods; a percentage is rounded up.
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

// ResourceClaim is a claim on devices.
type ResourceClaim struct {
	Namespace, Name, UID string
	Owner                Owner // controller: the pod that the claim was generated for, if any
	Deleting             bool
}
