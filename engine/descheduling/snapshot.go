package descheduling

import (
	"time"

	"github.com/berthproject/berth/engine/model"
)

// Snapshot is a cluster at one moment, as far as descheduling reads it. It is not changed by a round.
type Snapshot struct {
	Now        time.Time
	Nodes      []*Node                 // all, by name
	Unbound    []*Pod                  // pods without a node: they count as replicas of their owners
	Namespaces map[string]model.Labels // labels by name
	Budgets    []*model.Budget
	// Priorities are the values of the PriorityClasses, by name.
	Priorities map[string]int32
	// ClaimStorageClasses are the storage classes of PersistentVolumeClaims by "namespace/name"; empty, or not
	// there: the claim names none, or is not there.
	ClaimStorageClasses map[string]string
	// Usage is what nodes and pods use, where it is measured; nil: requests stand for it.
	Usage *Usage
}

// Node is a node with the pods that are bound to it, those that have finished included.
type Node struct {
	*model.Node
	// NotReady: a condition Ready is there and is not True. A node that says nothing is ready.
	NotReady bool
	Pods     []*Pod // by namespace and name
}

// Usage is measured usage (metrics.k8s.io), by node name and by pod uid.
type Usage struct {
	Nodes, Pods map[string]model.Resources
}

// Pod is a pod with what descheduling reads beyond scheduling.
type Pod struct {
	*model.Pod
	Details *PodDetails
	// Expected: it stands for a pod that will be there (Snapshot.Foresee). It counts as one, and does not go.
	Expected bool
}

// PodDetails are what descheduling reads of a pod and nobody else does.
type PodDetails struct {
	// Owners are all owner references, the controller's among them, in order.
	Owners []model.Owner
	// HasPriority: spec.priority is set.
	HasPriority bool
	// Guaranteed says of a pod that is not BestEffort that its QoS class is Guaranteed, else it is Burstable.
	Guaranteed bool
	// Static: the pod comes from a file or a URL of its node (annotation kubernetes.io/config.source).
	Static bool
	// EvictAnyway: descheduler.alpha.kubernetes.io/evict is there, with whatever value.
	EvictAnyway bool
	// PreferNoEviction: descheduler.alpha.kubernetes.io/prefer-no-eviction is there.
	PreferNoEviction bool
	// LocalStorage: a volume is an emptyDir or a hostPath.
	LocalStorage bool
	// Claims are the names of the PersistentVolumeClaims that volumes name.
	Claims []string
	// ResourceClaims: spec.resourceClaims is not empty.
	ResourceClaims bool
	// Images are the images of the containers, as written, in order.
	Images []string
	// PhaseReason is status.reason.
	PhaseReason string
	// Conditions are status.conditions.
	Conditions []Condition
	// Init, Containers and Ephemeral are the states of containers, in order of the status.
	Init, Containers, Ephemeral []Container
}

// Condition is a condition of a pod.
type Condition struct {
	Type, Status, Reason string
	LastTransition       time.Time // lastTransitionTime; zero: not given
}

// Container is the state of a container.
type Container struct {
	Name       string
	Restarts   int32
	Waiting    string       // reason; empty: it does not wait, or gives none
	Terminated *Termination // state.terminated
}

// Termination is how a container ended.
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
