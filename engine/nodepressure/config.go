package nodepressure

import (
	"time"
)

// Config is what a machine goes by. internal/config makes it from a
// KubeletConfiguration and a BerthConfiguration.
type Config struct {
	// Thresholds in the order in which they count where several are met; a threshold for
	// containerfs is replaced by those of the filesystem that it lies on (WithLayout).
	Thresholds []Threshold
	// TransitionPeriod is how long a condition stays true after it was last observed; 0: it is
	// never reported.
	TransitionPeriod time.Duration
	// MaxPodGrace caps, in seconds, the grace period of a pod that a soft threshold
	// evicts. Below 0 the pod's own counts (Options.NegativeGraceIsPods).
	MaxPodGrace int64
	// LocalStorage: pods that pass limits of their own local storage are evicted.
	LocalStorage bool
	// Layout says how the filesystems relate.
	Layout  Layout
	Options Options
}

// Layout says how the node's filesystems relate; false for both is a single disk.
type Layout struct {
	DedicatedImageFs     bool // images, and unless the next is set writable layers, are apart from nodefs
	DedicatedContainerFs bool // writable layers are with nodefs, apart from the images ("split")
}

// Options are where Berth does better than upstream. The zero value is upstream.
type Options struct {
	// ConfirmPageCache: memory of which only page cache makes it scarce counts as scarce once a
	// second look finds the cache in use.
	ConfirmPageCache bool
	// Forecast: memory counts as scarce before the threshold when, growing as it does, it
	// would be used up within the time that an eviction takes.
	Forecast bool
	// CountTerminating: what a pod that is being killed still holds counts as on its way
	// back. Without it nobody else is evicted while one dies, for 30 s at most.
	CountTerminating bool
	// RankInodes: under inode pressure pods are ranked by their inodes alone, without
	// their storage requests being taken off.
	RankInodes bool
	// CountRootFs: a container's writable layer counts against its limit of local storage
	// with a dedicated imagefs, too.
	CountRootFs bool
	// NegativeGraceIsPods: a negative MaxPodGrace means the pod's own grace period, as it is
	// documented; without it the pod is killed at once.
	NegativeGraceIsPods bool
}

// AllOptions are all options on.
func AllOptions() Options {
	return Options{ConfirmPageCache: true, Forecast: true, CountTerminating: true, RankInodes: true, CountRootFs: true, NegativeGraceIsPods: true}
}

// Value is an amount, or a share of the capacity.
type Value struct {
	Quantity Quantity
	// Percentage is a fraction of the capacity, 0 when Quantity counts. 32 bits, as
	// upstream, so that 10 % of 100 GiB are 10737418400 bytes.
	Percentage float32
}

// Of is the amount that the value stands for with this capacity.
func (v Value) Of(capacity int64) Quantity {
	if v.Percentage != 0 {
		return Quantity{Amount: int64(float64(float64(capacity) * float64(v.Percentage)))}
	}
	return v.Quantity
}

// Threshold is a lower bound of what must be available.
type Threshold struct {
	Signal Signal
	Value  Value
	// Grace is how long it must be passed before pods go; 0: it is a hard threshold.
	Grace time.Duration
	// MinReclaim is how much more must be available, once the threshold was passed, until
	// it counts as kept again; nil: nothing more.
	MinReclaim *Value
}

// Hard says that the threshold is acted upon at once.
func (t Threshold) Hard() bool { return t.Grace == 0 }

// WithLayout are the thresholds as they count with a layout of filesystems: containerfs has
// the thresholds of the filesystem that it lies on, whatever was set for it.
func WithLayout(thresholds []Threshold, l Layout) []Threshold {
	from := map[Signal]Signal{NodeFsAvailable: ContainerFsAvailable, NodeFsInodesFree: ContainerFsInodesFree}
	if l.DedicatedImageFs && !l.DedicatedContainerFs {
		from = map[Signal]Signal{ImageFsAvailable: ContainerFsAvailable, ImageFsInodesFree: ContainerFsInodesFree}
	}
	var out, copies []Threshold
	for _, t := range thresholds {
		if t.Signal == ContainerFsAvailable || t.Signal == ContainerFsInodesFree {
			continue
		}
		out = append(out, t)
		if to, ok := from[t.Signal]; ok {
			t.Signal = to
			copies = append(copies, t)
		}
	}
	return append(out, copies...)
}
