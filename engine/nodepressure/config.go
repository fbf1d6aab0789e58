package nodepressure

import "time"

// Config configures a Machine. internal/config creates it from a KubeletConfiguration and a
// BerthConfiguration.
type Config struct {
	// Thresholds are handled in this order if several are met. A threshold for containerfs is replaced
	// by those of its filesystem (WithLayout).
	Thresholds []Threshold
	// TransitionPeriod is how long a condition stays true after pressure was last observed. If it is 0,
	// no condition is reported.
	TransitionPeriod time.Duration
	// MaxPodGrace caps, in seconds, the grace period of a pod that a soft threshold evicts. For negative
	// values see Options.NegativeGraceMeansPodGrace.
	MaxPodGrace int64
	// LocalStorage enables evictions of pods over a limit of their local storage.
	LocalStorage bool
	// Layout describes how the filesystems relate.
	Layout  Layout
	Options Options
}

// Layout describes how the node's filesystems relate. The zero value is a single disk.
type Layout struct {
	DedicatedImageFs     bool // images are on their own filesystem, with the writable layers unless DedicatedContainerFs is set
	DedicatedContainerFs bool // writable layers are on nodefs, apart from the images ("split")
}

// Options enable improvements over the kubelet. The zero value behaves like the kubelet.
type Options struct {
	// ConfirmPageCache ignores memory pressure that page cache alone causes until a second check finds the cache in
	// use.
	ConfirmPageCache bool
	// Forecast treats a memory threshold as met early if the growth of usage would exhaust the memory within the
	// duration of an eviction.
	Forecast bool
	// CountTerminating counts the resources of a terminating pod as about to be freed. Otherwise no other pod is
	// evicted while one terminates, for up to 30 s.
	CountTerminating bool
	// RankInodes ranks pods by their inodes under inode pressure, without subtracting their storage requests.
	RankInodes bool
	// CountRootFs counts a container's writable layer against its local storage limit even with a dedicated imagefs.
	CountRootFs bool
	// NegativeGraceMeansPodGrace makes a negative MaxPodGrace mean the pod's own grace period, as documented. Otherwise
	// the pod is killed immediately.
	NegativeGraceMeansPodGrace bool
	// NameVolumes names, in the message of an eviction for disk space, the volume or the files that use more than the
	// pod's containers.
	NameVolumes bool
}

// AllOptions returns all options enabled.
func AllOptions() Options {
	return Options{ConfirmPageCache: true, Forecast: true, CountTerminating: true, RankInodes: true, CountRootFs: true, NegativeGraceMeansPodGrace: true, NameVolumes: true}
}

// Value is an amount or a share of the capacity.
type Value struct {
	Quantity Quantity
	// Percentage is a fraction of the capacity; 0 if Quantity applies. It has 32 bits, as in the kubelet, so
	// that 10 % of 100 GiB is 10737418400 bytes.
	Percentage float32
}

// Of returns the amount for a capacity.
func (v Value) Of(capacity int64) Quantity {
	if v.Percentage != 0 {
		return Quantity{Amount: int64(float64(capacity) * float64(v.Percentage))}
	}
	return v.Quantity
}

// Threshold is a lower bound of an available amount.
type Threshold struct {
	Signal Signal
	Value  Value
	// Grace is how long the threshold must be met before pods are evicted; 0: a hard threshold.
	Grace time.Duration
	// MinReclaim is how much more must be available, once the threshold was met, before it counts as
	// cleared; nil: none.
	MinReclaim *Value
}

// Hard reports whether the threshold has no grace period.
func (t Threshold) Hard() bool { return t.Grace == 0 }

// WithLayout returns the thresholds for a layout of filesystems. It replaces configured thresholds of
// containerfs by those of the filesystem that containerfs is on.
func WithLayout(thresholds []Threshold, l Layout) []Threshold {
	copyTo := map[Signal]Signal{NodeFsAvailable: ContainerFsAvailable, NodeFsInodesFree: ContainerFsInodesFree}
	if l.DedicatedImageFs && !l.DedicatedContainerFs {
		copyTo = map[Signal]Signal{ImageFsAvailable: ContainerFsAvailable, ImageFsInodesFree: ContainerFsInodesFree}
	}
	var out, copies []Threshold
	for _, t := range thresholds {
		if t.Signal == ContainerFsAvailable || t.Signal == ContainerFsInodesFree {
			continue
		}
		out = append(out, t)
		if to, ok := copyTo[t.Signal]; ok {
			t.Signal = to
			copies = append(copies, t)
		}
	}
	return append(out, copies...)
}
