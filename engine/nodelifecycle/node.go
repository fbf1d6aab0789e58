package nodelifecycle

import (
	"time"

	"github.com/berthproject/berth/engine/model"
)

// Status is the status of a condition.
type Status uint8

// The statuses.
const (
	Absent Status = iota
	True
	False
	Unknown
)

// String returns the status as the API spells it.
func (s Status) String() string { return [...]string{"", "True", "False", "Unknown"}[s] }

// notReady reports whether a Ready condition with this status means that the node is not ready.
func (s Status) notReady() bool { return s == False || s == Unknown }

// Condition is a node condition.
type Condition struct {
	Type                  string
	Status                Status
	Reason, Message       string
	Heartbeat, Transition time.Time
}

// Condition types that this package uses.
const (
	Ready              = "Ready"
	MemoryPressure     = "MemoryPressure"
	DiskPressure       = "DiskPressure"
	PIDPressure        = "PIDPressure"
	NetworkUnavailable = "NetworkUnavailable"
	OutOfDisk          = "OutOfDisk" // of agents that keep a disk reserve
)

// kubeletConditions are the conditions that become Unknown when the kubelet stops reporting.
var kubeletConditions = [...]string{Ready, MemoryPressure, DiskPressure, PIDPressure}

// Keys of the taints that this package adds and removes.
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

// Node has the fields of a Node object that this package reads.
type Node struct {
	Name, UID string
	Zone      string // see ZoneName
	// Excluded is set if the node does not count for the state of its zone.
	Excluded      bool
	Created       time.Time
	Unschedulable bool
	Conditions    []Condition
	Taints        []model.TimedTaint
}

// ZoneName returns the name of a failure domain, "region/zone", or "" for nodes without these
// labels.
func ZoneName(region, zone string) string {
	if region == "" && zone == "" {
		return ""
	}
	return region + "/" + zone
}

// Condition returns the node's condition of a type; its status is Absent if there is none.
func (n *Node) Condition(kind string) Condition {
	for i := range n.Conditions {
		if n.Conditions[i].Type == kind {
			return n.Conditions[i]
		}
	}
	return Condition{Type: kind}
}

// Ready returns the status of the Ready condition.
func (n *Node) Ready() Status { return n.Condition(Ready).Status }

// NotReady reports whether the node has a Ready condition that is not True.
func (n *Node) NotReady() bool { return n.Ready().notReady() }

// noExecuteTaint returns the node's NoExecute taint with the key, or nil.
func (n *Node) noExecuteTaint(key string) *model.TimedTaint {
	for i := range n.Taints {
		if t := &n.Taints[i]; t.Effect == model.NoExecute && t.Key == key {
			return t
		}
	}
	return nil
}

// NoExecuteTaint returns the node's not-ready taint with the effect NoExecute, or else its unreachable one, or nil.
func (n *Node) NoExecuteTaint() *model.TimedTaint {
	if t := n.noExecuteTaint(TaintNotReady); t != nil {
		return t
	}
	return n.noExecuteTaint(TaintUnreachable)
}
