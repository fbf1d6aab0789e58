package nodepressure

import (
	"errors"
	"testing"
	"time"
)

func TestNegativeDiskReserve(t *testing.T) {
	if _, err := NewDiskReserve(DiskReserveConfig{Bytes: [NumFilesystems]int64{0, -1}}, nil); err == nil || err.Error() != "reserve of the root filesystem: -1 bytes: must be 0 or more" {
		t.Errorf("got error %v, want that of a negative reserve", err)
	}
}

// newTestReserve returns a DiskReserve with its settable figures and errors, and the number of reads of
// each filesystem.
func newTestReserve(t *testing.T) (*DiskReserve, *[NumFilesystems]FsSpace, *[NumFilesystems]error, *[NumFilesystems]int) {
	spaces := &[NumFilesystems]FsSpace{{100 << 30, 50 << 30}, {100 << 30, 50 << 30}}
	errs, read := &[NumFilesystems]error{}, &[NumFilesystems]int{}
	r, err := NewDiskReserve(DiskReserveConfig{Bytes: [NumFilesystems]int64{DefaultDiskReserve, DefaultDiskReserve}, TransitionPeriod: DefaultDiskReserveTransition},
		func(f Filesystem) (FsSpace, error) { read[f]++; return spaces[f], errs[f] })
	if err != nil {
		t.Fatal(err)
	}
	return r, spaces, errs, read
}

func TestDiskReserveCachesSpace(t *testing.T) {
	r, spaces, _, read := newTestReserve(t)
	spaces[ImageFs].Available = DefaultDiskReserve - 1
	for ms := 0; ms < 4000; ms += 500 {
		if ok, reason, message := r.Admit(at(ms)); ok || reason != "OutOfDisk" || message != "cannot be started due to lack of disk space. The image filesystem has 268435455 available, below the threshold of 256Mi." {
			t.Errorf("admitted %v, %s: %s", ok, reason, message)
		}
	}
	if *read != [NumFilesystems]int{2, 0} {
		t.Errorf("read %v times in 4 s, want one read per 2 s of each filesystem until one is low", *read)
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
				t.Error("a pod is rejected")
			}
			if _, _, errs := r.BelowReserve(at(1)); len(errs) != 1 {
				t.Errorf("got errors %v, want one", errs)
			}
			spaces[RootFs].Available = 0
			if ok, _, _ := r.Admit(at(3000)); ok {
				t.Error("a pod is admitted although the root filesystem is full")
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
		t.Error("a pod is rejected although space is available: only the taint and the condition remain")
	}
	if reason, message := r.ConditionText(); reason != "KubeletOutOfDisk" || message != "out of disk space. The root filesystem (/data) has 1Mi available, below the threshold of 256Mi." {
		t.Errorf("got condition text %s: %s", reason, message)
	}
	if !outOfDisk(20_000) || !outOfDisk(309_000) {
		t.Error("OutOfDisk is False before the transition period ends")
	}
	if outOfDisk(310_000) {
		t.Error("OutOfDisk is True after the transition period")
	}
	reason, message := r.ConditionText()
	if reason != "KubeletHasSufficientDisk" || message != "kubelet has sufficient disk space available" {
		t.Errorf("got condition text %s: %s", reason, message)
	}
}

func TestZeroDiskReserveReadsNothing(t *testing.T) {
	r, err := NewDiskReserve(DiskReserveConfig{TransitionPeriod: time.Minute}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if ok, _, _ := r.Admit(at(0)); !ok {
		t.Error("a pod is rejected")
	}
}
