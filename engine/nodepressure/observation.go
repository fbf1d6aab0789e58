package nodepressure

import "time"

// Observation is what is seen of a node at a moment. The machine keeps nothing of it
// after Step.
type Observation struct {
	Signals [NumSignals]Stat
	// ReadFailed: figures could not be read. Step then does nothing, and Collected takes it that
	// collecting was not enough.
	ReadFailed bool
	// PageCache tells how much of the memory in use is page cache; only Options.Confirm and
	// Options.Forecast read it.
	PageCache PageCache
	// CheckLimits: the pods' figures of local storage are new, so their limits are checked.
	// Set it as often as pods' disks are measured.
	CheckLimits bool
	// Pods hands over the pods that run, in a fixed order. It is called at most once a Step,
	// and only when a pod may have to go or limits are checked, so that reading
	// their figures costs nothing otherwise. The slice and its elements are only read, and
	// not kept.
	Pods func() []Pod
}

// Stat is a figure of a signal.
type Stat struct {
	Known               bool
	Available, Capacity int64 // bytes, inodes or processes
	// Time is when it was measured. A figure evicts nobody unless it is newer than the one
	// before; zero: it always is.
	Time time.Time
}

// PageCache is the page cache in the node's working set of memory. It is taken for that of
// AllocatableMemoryAvailable, too: nearly all of it is the pods'.
type PageCache struct {
	Known  bool
	Active int64 // bytes of active_file: in the working set, reclaimable unless in use
	// Refaults counts pages that were read again soon after they had been reclaimed
	// (workingset_refault_file), since any moment; below 0: it is not told.
	Refaults int64
	// StallTime is the time in which some task of the node could not run for want of memory
	// (PSI some, total), since any moment; below 0: it is not told.
	StallTime time.Duration
}

// FsStats is what a container's writable layer, its logs or a volume hold.
type FsStats struct {
	Known  bool
	Bytes  int64
	Inodes int64
}

// PodStats is what a pod uses.
type PodStats struct {
	MemoryKnown bool
	Memory      int64 // bytes of its working set
	Processes   int64
	// Ephemeral are the bytes of all of its local storage: containers, logs, emptyDirs on disk, etc-hosts.
	EphemeralKnown bool
	Ephemeral      int64
	Containers     []ContainerStats
	Volumes        []VolumeStats
}

// ContainerStats is what a container uses.
type ContainerStats struct {
	Name        string
	MemoryKnown bool
	Memory      int64 // bytes of its working set
	RootFs      FsStats
	Logs        FsStats
}

// VolumeStats is what a volume holds.
type VolumeStats struct {
	Name string
	FsStats
}
