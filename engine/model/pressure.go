package model

import "time"

// Pressure is a resource of which a node may have too little.
type Pressure uint8

// The pressures, in the order of the node's conditions.
const (
	MemoryPressure Pressure = iota
	DiskPressure
	PIDPressure
	NumPressures
)

// Taint is the taint that a node under this pressure gets from its conditions.
func (p Pressure) Taint() Taint {
	return Taint{Key: [NumPressures]string{"node.kubernetes.io/memory-pressure", "node.kubernetes.io/disk-pressure",
		"node.kubernetes.io/pid-pressure"}[p], Effect: NoSchedule}
}

// PressureCondition is what a node has last said of a pressure.
type PressureCondition struct {
	True    bool
	Written time.Time // its last heartbeat or change
}

// NodeEviction is that a node threw a pod out, or did not take it: that says of the node what its
// conditions and its pods do not say yet.
type NodeEviction struct {
	Node string
	// Pressure that it is under; of no account where Lack is given.
	Pressure Pressure
	Shortage *ResourceShortage
	At       time.Time
}

// ResourceShortage is of what a node had too little for a pod that it did not take.
type ResourceShortage struct {
	Pod      string // its uid
	Resource string // as in the pod's status: cpu, memory, pods, ephemeral-storage, or an extended one
	Free     int64  // what the node says it has left: thousandths of a core, bytes, counts
}
