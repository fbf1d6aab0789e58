package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// GroupVersion is the group and version of the package.
var GroupVersion = schema.GroupVersion{Group: "berth.dev", Version: "v1alpha1"}

// HoldsResource is the name of the resource.
const HoldsResource = "holds"

// Hold reserves a node for the pods of one owner in its namespace, or keeps them off the node.
type Hold struct {
	metav1.TypeMeta `json:",inline"`
	// Standard object's metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`
	// Spec is the specification of the Hold.
	Spec HoldSpec `json:"spec"`
}

// HoldSpec is the specification of a Hold.
type HoldSpec struct {
	// Type is Reserve, which reserves capacity on the node for the replacement of the victim, or
	// Avoid, which keeps the owner's pods off the node. It is immutable.
	Type HoldType `json:"type"`
	// Owner is the controller of the affected pods. It is immutable.
	Owner Owner `json:"owner"`
	// Node is the name of the node. It is immutable.
	Node string `json:"node"`
	// Cause is why the Hold exists, in one word: Pressure, Admission, Descheduling, Taint, Drain.
	Cause string `json:"cause"`
	// Count is how many of the owner's pods were displaced for this cause. Defaults to 1.
	// +optional
	Count int32 `json:"count,omitempty"`
	// Until is when the Hold ends, whether it is deleted or not.
	Until metav1.Time `json:"until"`
	// Victim is the displaced pod, or the pod to be displaced. It is required for Reserve.
	// +optional
	Victim *Victim `json:"victim,omitempty"`
}

// HoldType is the effect of a Hold.
// +enum
type HoldType string

// Types of Holds.
const (
	Reserve HoldType = "Reserve"
	Avoid   HoldType = "Avoid"
)

// Owner is the controller of pods, as in their owner references.
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

// Victim has the fields of a pod that a scheduler needs to reserve capacity for its replacement.
type Victim struct {
	// Name of the pod.
	// +optional
	Name string `json:"name,omitempty"`
	// UID of the pod.
	UID types.UID `json:"uid"`
	// Priority of the pod. Pods of a higher priority may use the capacity.
	// +optional
	Priority int32 `json:"priority,omitempty"`
	// Requests are the effective requests of the pod: the sum over its containers, with overhead.
	// +optional
	Requests corev1.ResourceList `json:"requests,omitempty"`
	// Labels of the pod.
	// +optional
	Labels map[string]string `json:"labels,omitempty"`
	// HostPorts are the host ports of the pod.
	// +optional
	// +listType=atomic
	HostPorts []HostPort `json:"hostPorts,omitempty"`
}

// HostPort is a port on the node.
type HostPort struct {
	// HostIP is the address. Empty means all addresses of the node.
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
