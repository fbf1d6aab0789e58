package descheduling

import (
	"time"

	"github.com/berthproject/berth/engine/model"
)

// Snapshot is the state of a cluster that descheduling reads. A run does not modify it.
type Snapshot struct {
	Now        time.Time
	Nodes      []*Node                 // all, by name
	Unbound    []*Pod                  // pods without a node, which count as replicas of their owners
	Namespaces map[string]model.Labels // labels by name
	Budgets    []*model.Budget
	// Priorities are the values of PriorityClasses by name.
	Priorities map[string]int32
	// ClaimStorageClasses are the storage classes of PersistentVolumeClaims by "namespace/name",
	// if known.
	ClaimStorageClasses map[string]string
	// Usage is the measured usage, or nil; strategies use requests then.
	Usage *Usage
}

// Node is a node with the pods bound to it, finished ones included.
type Node struct {
	*model.Node
	// NotReady reports whether a Ready condition exists that is not True.
	NotReady bool
	Pods     []*Pod // sorted by namespace and name
}

// Usage is measured usage (metrics.k8s.io).
type Usage struct {
	Nodes, Pods map[string]model.Resources // Nodes by name, Pods by UID
}

// Pod is a pod with what descheduling reads beyond scheduling.
type Pod struct {
	*model.Pod
	Details *PodDetails
	// Expected marks a pod that does not exist yet (ApplyInProgress). Strategies count it and never
	// evict it.
	Expected bool
}

// PodDetails are the parts of a pod that only descheduling reads.
type PodDetails struct {
	// Owners are all owner references in order, including the controller.
	Owners []model.Owner
	// HasPriority reports whether spec.priority is set.
	HasPriority bool
	// Guaranteed distinguishes Guaranteed from Burstable for pods that are not BestEffort.
	Guaranteed bool
	// Static is set if the pod comes from a file or URL of its node (annotation kubernetes.io/config.source).
	Static bool
	// EvictAnyway reports whether the annotation descheduler.alpha.kubernetes.io/evict exists.
	EvictAnyway bool
	// PreferNoEviction reports whether the annotation descheduler.alpha.kubernetes.io/prefer-no-eviction exists.
	PreferNoEviction bool
	// LocalStorage reports whether a volume is an emptyDir or a hostPath.
	LocalStorage bool
	// Claims are the names of the PersistentVolumeClaims in use.
	Claims []string
	// ResourceClaims reports whether spec.resourceClaims is not empty.
	ResourceClaims bool
	// Images are the images of the containers in order.
	Images []string
	// PhaseReason is status.reason.
	PhaseReason string
	Conditions  []Condition
	// Init, Containers and Ephemeral are container states in the order of the status.
	Init, Containers, Ephemeral []Container
}

// Condition is a pod condition.
type Condition struct {
	Type, Status, Reason string
	LastTransition       time.Time // lastTransitionTime, or zero
}

// Container is the state of a container.
type Container struct {
	Name       string
	Restarts   int32
	Waiting    string       // reason, or empty
	Terminated *Termination // state.terminated
}

// Termination describes a terminated container.
type Termination struct {
	Reason   string
	ExitCode int32
}

// Reasons returns why a container waits or has terminated.
func (c *Container) Reasons() (out []string) {
	if c.Waiting != "" {
		out = append(out, c.Waiting)
	}
	if c.Terminated != nil {
		out = append(out, c.Terminated.Reason)
	}
	return out
}
