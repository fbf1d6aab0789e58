package model

import "time"

// Pressure is a resource that a node can be short of.
type Pressure uint8

// The pressures, in the order of the node conditions.
const (
	MemoryPressure Pressure = iota
	DiskPressure
	PIDPressure
	NumPressures
)

// Taint returns the taint of a node with this pressure condition.
func (p Pressure) Taint() Taint {
	return Taint{Key: [NumPressures]string{"node.kubernetes.io/memory-pressure", "node.kubernetes.io/disk-pressure",
		"node.kubernetes.io/pid-pressure"}[p], Effect: NoSchedule}
}

// PressureCondition is the last reported pressure condition of a node.
type PressureCondition struct {
	True    bool
	Written time.Time // last heartbeat or transition
}

// NodeEviction is an eviction or a rejection of a pod by its node. It shows a shortage
// before the node's conditions do.
type NodeEviction struct {
	Node string
	// Pressure is the reason of the eviction; ignored if Shortage is set.
	Pressure Pressure
	Shortage *ResourceShortage
	At       time.Time
}

// ResourceShortage is the resource that a node lacked when it rejected a pod.
type ResourceShortage struct {
	Pod      string // UID of the pod
	Resource string // as in the pod's status: cpu, memory, pods, ephemeral-storage or an extended resource
	Free     int64  // free amount that the node reported: thousandths of a core, bytes or counts
}
