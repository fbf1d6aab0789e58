package nodelifecycle

import (
	"time"

	"github.com/berthproject/berth/engine/model"
)

// Status is a condition's.
type Status uint8

// The states of a condition.
const (
	Absent Status = iota
	True
	False
	Unknown
)

// String is the status as the API has it.
func (s Status) String() string { return [...]string{"", "True", "False", "Unknown"}[s] }

// notReady says whether a node of whose Ready condition this is the status is lost.
func (s Status) notReady() bool { return s == False || s == Unknown }

// Condition is a node's condition.
type Condition struct {
	Type                  string
	Status                Status
	Reason, Message       string
	Heartbeat, Transition time.Time
}

// Types of conditions that count here.
const (
	Ready              = "Ready"
	MemoryPressure     = "MemoryPressure"
	DiskPressure       = "DiskPressure"
	PIDPressure        = "PIDPressure"
	NetworkUnavailable = "NetworkUnavailable"
	OutOfDisk          = "OutOfDisk" // of agents that keep a reserve of disk
)

// kubeletConditions are the conditions that a kubelet posts, and that are unknown when it is silent.
var kubeletConditions = [...]string{Ready, MemoryPressure, DiskPressure, PIDPressure}

// Keys of the taints that are put on and taken off here.
const (
	TaintNotReady           = "node.kubernetes.io/not-ready"
	TaintUnreachable        = "node.kubernetes.io/unreachable"
	TaintMemoryPressure     = "node.kubernetes.io/memory-pressure"
	TaintDiskPressure       = "node.kubernetes.io/disk-pressure"
	TaintPIDPressure        = "node.kubernetes.io/pid-pressure"
	TaintNetworkUnavailable = "node.kubernetes.io/network-unavailable"
	TaintOutOfDisk          = "node.kubernetes.io/out-of-disk"
	TaintUnschedulable      = "node.kubernetes.io/unschedulable"
)

// Node is a node as the API has it.
type Node struct {
	Name, UID string
	Zone      string // see ZoneName
	// Excluded: it does not count for the state of its zone.
	Excluded      bool
	Created       time.Time
	Unschedulable bool
	Conditions    []Condition
	Taints        []model.TimedTaint
}

// ZoneName is the name of a failure domain: "region/zone"; both are empty where nodes
// have no such labels.
func ZoneName(region, zone string) string {
	if region == "" && zone == "" {
		return ""
	}
	return region + "/" + zone
}

// Condition is the node's condition of a type; its status is Absent if there is none.
func (n *Node) Condition(kind string) Condition {
	for i := range n.Conditions {
		if n.Conditions[i].Type == kind {
			return n.Conditions[i]
		}
	}
	return Condition{Type: kind}
}

// Ready is the status of the node's Ready condition.
func (n *Node) Ready() Status { return n.Condition(Ready).Status }

// noExecuteTaint is the node's NoExecute taint of a key, nil when it has none.
func (n *Node) noExecuteTaint(key string) *model.TimedTaint {
	for i := range n.Taints {
		if t := &n.Taints[i]; t.Effect == model.NoExecute && t.Key == key {
			return t
		}
	}
	return nil
}

// NoExecuteTaint is the NoExecute taint of a lost node that it has, nil when it has neither.
func (n *Node) NoExecuteTaint() *model.TimedTaint {
	if t := n.noExecuteTaint(TaintNotReady); t != nil {
		return t
	}
	return n.noExecuteTaint(TaintUnreachable)
}
