package nodepressure

import (
	"errors"
	"testing"
	"time"
)

func TestNegativeDiskReserve(t *testing.T) {
	if _, err := NewDiskReserve(DiskReserveConfig{Bytes: [NumFilesystems]int64{0, -1}}, nil); err == nil || err.Error() != "reserve of the root filesystem: -1 bytes: must be 0 or more" {
		t.Errorf("NewDiskReserve with a negative reserve: %v, want an error that names the filesystem and the value", err)
	}
}

// newTestReserve returns a DiskReserve, the space and the errors that it reads, and the number of reads, each by
// filesystem.
func newTestReserve(t *testing.T) (*DiskReserve, *[NumFilesystems]FsSpace, *[NumFilesystems]error, *[NumFilesystems]int) {
	spaces := &[NumFilesystems]FsSpace{{100 << 30, 50 << 30}, {100 << 30, 50 << 30}}
	errs, reads := &[NumFilesystems]error{}, &[NumFilesystems]int{}
	r, err := NewDiskReserve(DiskReserveConfig{Bytes: [NumFilesystems]int64{DefaultDiskReserve, DefaultDiskReserve}, TransitionPeriod: DefaultDiskReserveTransition},
		func(f Filesystem) (FsSpace, error) { reads[f]++; return spaces[f], errs[f] })
	if err != nil {
		t.Fatal(err)
	}
	return r, spaces, errs, reads
}

func TestDiskReserveCachesSpace(t *testing.T) {
	r, spaces, _, reads := newTestReserve(t)
	spaces[ImageFs].Available = DefaultDiskReserve - 1
	for ms := 0; ms < 4000; ms += 500 {
		if ok, reason, message := r.Admit(at(ms)); ok || reason != "OutOfDisk" || message != "cannot be started due to lack of disk space. The image filesystem has 268435455 available, below the threshold of 256Mi." {
			t.Errorf("Admit = %v, %s: %s, want false with OutOfDisk and the image filesystem", ok, reason, message)
		}
	}
	if *reads != [NumFilesystems]int{2, 0} {
		t.Errorf("reads of the filesystems in 4 s: %v, want 2 of the first, which is low, and 0 of the second", *reads)
	}
	spaces[ImageFs].Available, spaces[RootFs].Available = DefaultDiskReserve, DefaultDiskReserve-1
	if low, fs, _ := r.BelowReserve(at(4000)); !low || fs != RootFs {
		t.Errorf("low %v on the %s, want the root filesystem", low, fs)
	}
}

func TestUnreadableSpaceAdmitsPods(t *testing.T) {
	for name, set := range map[string]func(*FsSpace, *error){
		"error":    func(_ *FsSpace, err *error) { *err = errors.New("input/output error") },
		"capacity": func(f *FsSpace, _ *error) { *f = FsSpace{} },
		"negative": func(f *FsSpace, _ *error) { f.Available = -5 },
	} {
		t.Run(name, func(t *testing.T) {
			r, spaces, errs, _ := newTestReserve(t)
			set(&spaces[ImageFs], &errs[ImageFs])
			if ok, _, _ := r.Admit(at(0)); !ok {
				t.Error("a pod is rejected, want it admitted")
			}
			if _, _, errs := r.BelowReserve(at(1)); len(errs) != 1 {
				t.Errorf("got errors %v, want one", errs)
			}
			spaces[RootFs].Available = 0
			if ok, _, _ := r.Admit(at(3000)); ok {
				t.Error("a pod is admitted, want it rejected: the root filesystem is full")
			}
		})
	}
}

func TestOutOfDiskTransitionPeriod(t *testing.T) {
	r, spaces, _, _ := newTestReserve(t)
	outOfDisk := func(ms int) bool { r.Update(at(ms)); return r.Condition().True }
	if !r.Update(at(0)) || outOfDisk(0) {
		t.Error("OutOfDisk is True, want False")
	}
	spaces[RootFs].Available = 1 << 20
	r.config.Dirs[RootFs] = "/data"
	if !outOfDisk(10_000) {
		t.Error("OutOfDisk is False with 1 MiB available, want True")
	}
	spaces[RootFs].Available = 50 << 30
	if ok, _, _ := r.Admit(at(20_000)); !ok {
		t.Error("a pod is rejected although space is available, want it admitted: only the taint and the condition remain")
	}
	if reason, message := r.ConditionText(); reason != "KubeletOutOfDisk" || message != "out of disk space. The root filesystem (/data) has 1Mi available, below the threshold of 256Mi." {
		t.Errorf("condition text %s: %s, want KubeletOutOfDisk with the space at the time of the transition", reason, message)
	}
	if !outOfDisk(20_000) || !outOfDisk(309_000) {
		t.Error("OutOfDisk is False before the transition period ends, want True")
	}
	if outOfDisk(310_000) {
		t.Error("OutOfDisk is True after the transition period, want False")
	}
	reason, message := r.ConditionText()
	if reason != "KubeletHasSufficientDisk" || message != "kubelet has sufficient disk space available" {
		t.Errorf("condition text %s: %s, want KubeletHasSufficientDisk", reason, message)
	}
}

func TestZeroDiskReserveReadsNothing(t *testing.T) {
	r, err := NewDiskReserve(DiskReserveConfig{TransitionPeriod: time.Minute}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if ok, _, _ := r.Admit(at(0)); !ok {
		t.Error("a pod is rejected, want it admitted")
	}
}
