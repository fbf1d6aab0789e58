package model

// Namespace is a namespace with its labels.
type Namespace struct {
	Name   string
	Labels Labels
}

// Group is a Service, ReplicationController, ReplicaSet or StatefulSet as far
// as default spreading reads it: whose pods belong together.
type Group struct {
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
	Selector           *Selector
	DisruptionsAllowed int32
	Disrupted          []string // names in status.disruptedPods, sorted
	CurrentHealthy     int32
	DesiredHealthy     int32
	ExpectedPods       int32
	Generation         int64
	ObservedGeneration int64
	ResourceVersion    string
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
