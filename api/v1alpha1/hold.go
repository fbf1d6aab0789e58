package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// GroupVersion is the group and version of the package.
var GroupVersion = schema.GroupVersion{Group: "berth.dev", Version: "v1alpha1"}

// HoldsResource is the resource.
const HoldsResource = "holds"

// Hold keeps a node for, or from, the pods of one owner in its namespace.
type Hold struct {
	metav1.TypeMeta `json:",inline"`
	// Standard object's metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`
	// Spec says what is held.
	Spec HoldSpec `json:"spec"`
}

// HoldSpec says what is held.
type HoldSpec struct {
	// Type is Reserve, which keeps room on the node for the replacement of the victim, or
	// Avoid, which keeps the owner's pods off the node. It cannot be changed.
	Type HoldType `json:"type"`
	// Owner is the controller of the pods that the hold is about. It cannot be changed.
	Owner Owner `json:"owner"`
	// Node is the name of the node. It cannot be changed.
	Node string `json:"node"`
	// Cause says why, in one word: Pressure, Admission, Rebalance, Taint, Drain.
	Cause string `json:"cause"`
	// Count is how many of the owner's pods went for this cause. Defaults to 1.
	// +optional
	Count int32 `json:"count,omitempty"`
	// Until is when the hold ends, whether it is deleted or not.
	Until metav1.Time `json:"until"`
	// Victim is the pod that left, or is to leave; a Reserve must have one.
	// +optional
	Victim *Victim `json:"victim,omitempty"`
}

// HoldType is what a Hold does.
// +enum
type HoldType string

// The types.
const (
	Reserve HoldType = "Reserve"
	Avoid   HoldType = "Avoid"
)

// Owner is the controller of pods, as their owner references name it.
type Owner struct {
	// API version of the owner.
	APIVersion string `json:"apiVersion"`
	// Kind of the owner.
	Kind string `json:"kind"`
	// Name of the owner.
	Name string `json:"name"`
	// UID of the owner.
	UID types.UID `json:"uid"`
}

// Victim is what placement has to know of a pod to keep its room.
type Victim struct {
	// Name of the pod.
	// +optional
	Name string `json:"name,omitempty"`
	// UID of the pod.
	UID types.UID `json:"uid"`
	// Priority is that of the pod. Pods of a higher one may take the room.
	// +optional
	Priority int32 `json:"priority,omitempty"`
	// Requests are the pod's effective requests: the sum of its containers', with overhead.
	// +optional
	Requests corev1.ResourceList `json:"requests,omitempty"`
	// Labels are the pod's.
	// +optional
	Labels map[string]string `json:"labels,omitempty"`
	// HostPorts are the ports of the node that the pod takes.
	// +optional
	// +listType=atomic
	HostPorts []HostPort `json:"hostPorts,omitempty"`
}

// HostPort is a port of the node.
type HostPort struct {
	// HostIP is the address; all of the node's if empty.
	// +optional
	HostIP string `json:"hostIP,omitempty"`
	// Protocol is TCP, UDP or SCTP. Defaults to TCP.
	// +optional
	Protocol corev1.Protocol `json:"protocol,omitempty"`
	// Port is 1 to 65535.
	Port int32 `json:"port"`
}

// HoldList is a list of Holds.
type HoldList struct {
	metav1.TypeMeta `json:",inline"`
	// Standard list metadata.
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`
	// Items are the holds.
	Items []Hold `json:"items"`
}
