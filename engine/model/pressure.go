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

// Eviction is that a pod was thrown out by its node, which was low on something.
type Eviction struct {
	Node     string
	Pressure Pressure
	At       time.Time
}
