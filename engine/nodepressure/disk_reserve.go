package nodepressure

import (
	"fmt"
	"time"
)

// Filesystem is one of the two whose free space Reserve watches.
type Filesystem uint8

// The filesystems, in the order in which they are asked.
const (
	ImageFs Filesystem = iota
	RootFs
	NumFilesystems
)

var filesystemNames = [NumFilesystems]string{"image filesystem", "root filesystem"}

// String names the filesystem in messages.
func (f Filesystem) String() string { return filesystemNames[f] }

// FsSpace is how large a filesystem is and how much of it is free, in bytes.
type FsSpace struct{ Capacity, Available int64 }

// DiskReserveConfig says how much must be free.
type DiskReserveConfig struct {
	Bytes [NumFilesystems]int64 // 0: nothing is asked of it
	// TransitionPeriod is how long OutOfDisk stays after it became true, at least.
	TransitionPeriod time.Duration
}

// The defaults of the disk-space manager.
const (
	DefaultDiskReserve           = 256 << 20
	DefaultDiskReserveTransition = 5 * time.Minute
	spaceCacheTTL                = 2 * time.Second
)

// DiskReserve refuses new pods while a filesystem has too little free space. It is not safe
// for concurrent use.
type DiskReserve struct {
	config    DiskReserveConfig
	read      func(Filesystem) (FsSpace, error)
	spaces    [NumFilesystems]FsSpace
	errs      [NumFilesystems]error
	readAt    [NumFilesystems]time.Time
	condition Condition
	decided   bool // out has been set once
}

// NewDiskReserve is a reserve that reads figures by read, at most every 2 s. A negative
// reserve is refused.
func NewDiskReserve(c DiskReserveConfig, read func(Filesystem) (FsSpace, error)) (*DiskReserve, error) {
	for f, b := range c.Bytes {
		if b < 0 {
			return nil, fmt.Errorf("reserve of the %s: %d bytes: must be 0 or more", Filesystem(f), b)
		}
	}
	return &DiskReserve{config: c, read: read}, nil
}

// ReasonOutOfDisk is why a pod is refused, the name of the node's condition, and, with
// other spelling, of its taint.
const (
	ReasonOutOfDisk  = "OutOfDisk"
	TaintOutOfDisk   = "node.kubernetes.io/out-of-disk"
	messageOutOfDisk = "cannot be started due to lack of disk space."
)

// BelowReserve says which filesystem has less free than is reserved, and what it has. A
// figure that cannot be read or cannot be right is an error of that filesystem, which
// counts as having enough: errs tells of it.
func (r *DiskReserve) BelowReserve(now time.Time) (low bool, of Filesystem, errs []error) {
	for f := range NumFilesystems {
		if r.config.Bytes[f] == 0 {
			continue
		}
		figure, err := r.space(now, f)
		switch {
		case err != nil:
			errs = append(errs, err)
		case figure.Available < r.config.Bytes[f]:
			return true, f, errs
		}
	}
	return false, 0, errs
}

// space is what the filesystem had at most 2 s ago.
func (r *DiskReserve) space(now time.Time, f Filesystem) (FsSpace, error) {
	if at := r.readAt[f]; !at.IsZero() && now.Sub(at) < spaceCacheTTL && !now.Before(at) {
		return r.spaces[f], r.errs[f]
	}
	figure, err := r.read(f)
	switch {
	case err != nil:
		err = fmt.Errorf("%s: %w", f, err)
	case figure.Capacity <= 0:
		err = fmt.Errorf("%s: capacity %d: must be above 0", f, figure.Capacity)
	case figure.Available < 0:
		err = fmt.Errorf("%s: %d bytes available: must be 0 or more", f, figure.Available)
	}
	r.spaces[f], r.errs[f], r.readAt[f] = figure, err, now
	return figure, err
}

// Admit says whether a new pod is taken; if not, with the reason and message of its
// status. Nobody is exempt: there is no room for anybody's data.
func (r *DiskReserve) Admit(now time.Time) (ok bool, reason, message string) {
	if low, _, _ := r.BelowReserve(now); low {
		return false, ReasonOutOfDisk, messageOutOfDisk
	}
	return true, "", ""
}

// Update brings the condition OutOfDisk up to date, and says whether it changed. It
// becomes true at once, and false when there has been space and Transition has passed.
func (r *DiskReserve) Update(now time.Time) (changed bool) {
	low, _, _ := r.BelowReserve(now)
	if r.decided && (low == r.condition.True || !low && now.Sub(r.condition.Since) < r.config.TransitionPeriod) {
		return false
	}
	r.decided, r.condition = true, Condition{True: low, Since: now}
	return true
}

// Restore sets the condition to what the node last said, before anything is read.
func (r *DiskReserve) Restore(c Condition) { r.decided, r.condition = true, c }

// Condition is OutOfDisk: while it is true the node has TaintOutOfDisk, effect NoSchedule.
func (r *DiskReserve) Condition() Condition { return r.condition }

// ConditionText are the condition's reason and message.
func (r *DiskReserve) ConditionText() (reason, message string) {
	if r.condition.True {
		return "KubeletOutOfDisk", "out of disk space"
	}
	return "KubeletHasSufficientDisk", "kubelet has sufficient disk space available"
}
