package nodepressure

import "time"

// Observation holds the measurements of a node at one time. Step does not retain it.
type Observation struct {
	Signals [NumSignals]Stat
	// ReadFailed is set if the statistics could not be read. Step then does nothing, and Reclaimed assumes that
	// reclaiming was not enough.
	ReadFailed bool
	// PageCache is how much of the used memory is page cache, for ConfirmPageCache and Forecast.
	PageCache PageCache
	// CheckLimits is set if the usage of local storage was measured again and must be compared with limits.
	CheckLimits bool
	// Pods returns the running pods in a fixed order. It is called at most once per Step, and only if
	// a pod may be evicted or limits are checked. Step neither changes nor retains the slice.
	Pods func() []Pod
}

// Stat is a measurement of a signal. If Known is false, the signal was not measured.
type Stat struct {
	Known               bool
	Available, Capacity int64 // bytes, inodes or processes
	// Time is when the signal was measured. A Stat causes no eviction unless it is newer than the previous
	// one. A Stat with a zero Time counts as newer.
	Time time.Time
}

// PageCache is the page cache in the node's working set. It also applies to
// AllocatableMemoryAvailable, because pods have nearly all of it.
type PageCache struct {
	Known  bool
	Active int64 // bytes of active_file: in the working set, reclaimable unless in use
	// Refaults counts pages that were read again soon after they were reclaimed
	// (workingset_refault_file); below 0: unknown.
	Refaults int64
	// StallTime is the time in which some task could not run for lack of memory (PSI some, total);
	// below 0: unknown.
	StallTime time.Duration
}

// FsStats is the usage of a container's writable layer, its logs or a volume. If Known is false, it was not measured.
type FsStats struct {
	Known  bool
	Bytes  int64 // used
	Inodes int64 // used
}

// PodStats is the usage of a pod.
type PodStats struct {
	MemoryKnown bool
	Memory      int64 // bytes of the working set
	Processes   int64
	// Ephemeral is the bytes of all local storage: containers, logs, emptyDirs on disk, Files.
	EphemeralKnown bool
	Ephemeral      int64
	// Files are the files that all containers share, such as /etc/hosts.
	Files      FsStats
	Containers []ContainerStats
	Volumes    []VolumeStats
}

// ContainerStats is the usage of a container.
type ContainerStats struct {
	Name        string
	MemoryKnown bool
	Memory      int64 // bytes of the working set
	RootFs      FsStats
	Logs        FsStats
}

// VolumeStats is the usage of a volume.
type VolumeStats struct {
	Name string
	// Claim and Limit are the name and the capacity in bytes of a PersistentVolumeClaim whose file system does not enforce the
	// capacity. They are "" and 0 for other volumes.
	Claim string
	Limit int64
	FsStats
}
