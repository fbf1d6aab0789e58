package nodepressure

import "github.com/berthproject/berth/engine/model"

// Signal is an eviction signal.
type Signal uint8

// The signals, by the kubelet's names.
const (
	MemoryAvailable Signal = iota
	AllocatableMemoryAvailable
	NodeFsAvailable
	NodeFsInodesFree
	ImageFsAvailable
	ImageFsInodesFree
	ContainerFsAvailable
	ContainerFsInodesFree
	PIDAvailable
	NumSignals
)

var signalNames = [NumSignals]string{
	"memory.available", "allocatableMemory.available", "nodefs.available", "nodefs.inodesFree", "imagefs.available",
	"imagefs.inodesFree", "containerfs.available", "containerfs.inodesFree", "pid.available",
}

// String returns the signal's name in configuration files and metrics.
func (s Signal) String() string { return signalNames[s] }

// ParseSignal returns the signal with the given name.
func ParseSignal(name string) (Signal, bool) {
	for i, n := range signalNames {
		if n == name {
			return Signal(i), true
		}
	}
	return 0, false
}

// Resources, as messages and events name them.
const (
	Memory           = "memory"
	EphemeralStorage = "ephemeral-storage"
	Inodes           = "inodes"
	PIDs             = "pids"
)

// Resource returns the resource that the signal measures.
func (s Signal) Resource() string {
	switch s {
	case MemoryAvailable, AllocatableMemoryAvailable:
		return Memory
	case NodeFsInodesFree, ImageFsInodesFree, ContainerFsInodesFree:
		return Inodes
	case PIDAvailable:
		return PIDs
	}
	return EphemeralStorage
}

// Pressure returns the condition that the signal sets.
func (s Signal) Pressure() model.Pressure {
	switch s {
	case MemoryAvailable, AllocatableMemoryAvailable:
		return model.MemoryPressure
	case PIDAvailable:
		return model.PIDPressure
	}
	return model.DiskPressure
}

func (s Signal) memory() bool { return s <= AllocatableMemoryAvailable }

// decimal reports whether the kubelet prints the signal's amounts by powers of 1000.
func (s Signal) decimal() bool { return s.Resource() == Inodes }
