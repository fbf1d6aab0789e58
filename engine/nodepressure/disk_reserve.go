package nodepressure

import (
	"fmt"
	"strings"
	"time"
)

// Filesystem is a filesystem that DiskReserve watches.
type Filesystem uint8

// The filesystems, in the order in which they are checked.
const (
	ImageFs Filesystem = iota
	RootFs
	NumFilesystems
)

var filesystemNames = [NumFilesystems]string{"image filesystem", "root filesystem"}

// String returns the filesystem's name in messages.
func (f Filesystem) String() string { return filesystemNames[f] }

// FsSpace is the size and the free space of a filesystem, in bytes.
type FsSpace struct{ Capacity, Available int64 }

// DiskReserveConfig configures the space that must be free.
type DiskReserveConfig struct {
	Bytes [NumFilesystems]int64 // 0: not checked
	// Dirs are directories on the filesystems, for messages; "": not named.
	Dirs [NumFilesystems]string
	// TransitionPeriod is the minimum duration of OutOfDisk.
	TransitionPeriod time.Duration
}

// The defaults of DiskReserveConfig, and how long DiskReserve caches the space of a filesystem.
const (
	DefaultDiskReserve           = 256 << 20 // bytes of each filesystem
	DefaultDiskReserveTransition = 5 * time.Minute
	spaceCacheTTL                = 2 * time.Second
)

// DiskReserve rejects new pods while a filesystem has too little free space. It is not safe for
// concurrent use.
type DiskReserve struct {
	config    DiskReserveConfig
	read      func(Filesystem) (FsSpace, error)
	spaces    [NumFilesystems]FsSpace
	errs      [NumFilesystems]error
	readAt    [NumFilesystems]time.Time
	condition Condition
	shortage  string // describes why the condition is true; "" after Restore
	decided   bool   // condition is set
}

// NewDiskReserve returns a reserve that reads the space of filesystems with read, at most every 2 s. Negative
// reserves are an error.
func NewDiskReserve(c DiskReserveConfig, read func(Filesystem) (FsSpace, error)) (*DiskReserve, error) {
	for f, b := range c.Bytes {
		if b < 0 {
			return nil, fmt.Errorf("reserve of the %s: %d bytes: must be 0 or more", Filesystem(f), b)
		}
	}
	return &DiskReserve{config: c, read: read}, nil
}

// The reason of a rejected pod, which is also the condition's type, and the taint.
const (
	ReasonOutOfDisk  = "OutOfDisk"
	TaintOutOfDisk   = "node.kubernetes.io/out-of-disk"
	messageOutOfDisk = "cannot be started due to lack of disk space."
)

// BelowReserve reports whether a filesystem has less free space than its reserve, and which. A
// filesystem whose space cannot be read or is invalid is returned as an error and counts as above its reserve.
func (r *DiskReserve) BelowReserve(now time.Time) (low bool, fs Filesystem, errs []error) {
	for f := range NumFilesystems {
		if r.config.Bytes[f] == 0 {
			continue
		}
		stats, err := r.space(now, f)
		switch {
		case err != nil:
			errs = append(errs, err)
		case stats.Available < r.config.Bytes[f]:
			return true, f, errs
		}
	}
	return false, 0, errs
}

// space returns the filesystem's space, at most 2 s old.
func (r *DiskReserve) space(now time.Time, f Filesystem) (FsSpace, error) {
	if at := r.readAt[f]; !at.IsZero() && now.Sub(at) < spaceCacheTTL && !now.Before(at) {
		return r.spaces[f], r.errs[f]
	}
	stats, err := r.read(f)
	switch {
	case err != nil:
		err = fmt.Errorf("%s: %w", f, err)
	case stats.Capacity <= 0:
		err = fmt.Errorf("%s: capacity %d: must be above 0", f, stats.Capacity)
	case stats.Available < 0:
		err = fmt.Errorf("%s: %d bytes available: must be 0 or more", f, stats.Available)
	}
	r.spaces[f], r.errs[f], r.readAt[f] = stats, err, now
	return stats, err
}

// Admit reports whether a new pod is admitted. If not, it returns the reason and message for the
// pod's status. No pod is exempt.
func (r *DiskReserve) Admit(now time.Time) (ok bool, reason, message string) {
	if low, f, _ := r.BelowReserve(now); low {
		return false, ReasonOutOfDisk, messageOutOfDisk + " " + r.describe(f)
	}
	return true, "", ""
}

// describe names a filesystem, its available space and the threshold.
func (r *DiskReserve) describe(f Filesystem) string {
	name := f.String()
	if dir := r.config.Dirs[f]; dir != "" {
		name += " (" + dir + ")"
	}
	return fmt.Sprintf("The %s has %s available, below the threshold of %s.", name, Bytes(r.spaces[f].Available), Bytes(r.config.Bytes[f]))
}

// Update updates the condition OutOfDisk and reports whether it changed. It becomes true
// immediately, and false once there is space and the transition period has passed.
func (r *DiskReserve) Update(now time.Time) (changed bool) {
	low, f, _ := r.BelowReserve(now)
	if low && r.shortage == "" {
		r.shortage = r.describe(f)
	}
	if r.decided && (low == r.condition.True || !low && now.Sub(r.condition.Since) < r.config.TransitionPeriod) {
		return false
	}
	r.decided, r.condition = true, Condition{True: low, Since: now}
	if !low {
		r.shortage = ""
	}
	return true
}

// Restore sets the condition from the node's status.
func (r *DiskReserve) Restore(c Condition) { r.decided, r.condition = true, c }

// Condition returns OutOfDisk. While it is true the node has TaintOutOfDisk with effect NoSchedule.
func (r *DiskReserve) Condition() Condition { return r.condition }

// ConditionText returns the condition's reason and message. The message has the available space at the time
// at which the condition became true.
func (r *DiskReserve) ConditionText() (reason, message string) {
	if r.condition.True {
		return "KubeletOutOfDisk", strings.TrimSpace("out of disk space. " + r.shortage)
	}
	return "KubeletHasSufficientDisk", "kubelet has sufficient disk space available"
}
