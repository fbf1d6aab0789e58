package nodepressure

import (
	"errors"
	"testing"
	"time"
)

func TestNegativeDiskReserve(t *testing.T) {
	if _, err := NewDiskReserve(DiskReserveConfig{Bytes: [NumFilesystems]int64{0, -1}}, nil); err == nil || err.Error() != "reserve of the root filesystem: -1 bytes: must be 0 or more" {
		t.Errorf("error %v", err)
	}
}

// disks returns a DiskReserve over settable figures, and how often each was read.
func disks(t *testing.T) (*DiskReserve, *[NumFilesystems]FsSpace, *[NumFilesystems]error, *[NumFilesystems]int) {
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
	r, spaces, _, read := disks(t)
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
	if low, of, _ := r.BelowReserve(at(4000)); !low || of != RootFs {
		t.Errorf("low %v on the %s, want the root filesystem", low, of)
	}
}

func TestUnreadableSpaceAdmitsPods(t *testing.T) {
	for name, set := range map[string]func(*FsSpace, *error){
		"error":    func(_ *FsSpace, err *error) { *err = errors.New("gone") },
		"capacity": func(f *FsSpace, _ *error) { *f = FsSpace{} },
		"negative": func(f *FsSpace, _ *error) { f.Available = -5 },
	} {
		t.Run(name, func(t *testing.T) {
			r, spaces, errs, _ := disks(t)
			set(&spaces[ImageFs], &errs[ImageFs])
			if ok, _, _ := r.Admit(at(0)); !ok {
				t.Error("a pod is rejected")
			}
			if _, _, errs := r.BelowReserve(at(1)); len(errs) != 1 {
				t.Errorf("errors %v", errs)
			}
			spaces[RootFs].Available = 0
			if ok, _, _ := r.Admit(at(3000)); ok {
				t.Error("the other filesystem is not read")
			}
		})
	}
}

func TestOutOfDiskTransitionPeriod(t *testing.T) {
	r, spaces, _, _ := disks(t)
	outOfDisk := func(ms int) bool { r.Update(at(ms)); return r.Condition().True }
	if !r.Update(at(0)) || outOfDisk(0) {
		t.Error("the condition is not False")
	}
	spaces[RootFs].Available = 1 << 20
	r.config.Dirs[RootFs] = "/data"
	if !outOfDisk(10_000) {
		t.Error("not out of disk with 1 MiB")
	}
	spaces[RootFs].Available = 50 << 30
	if ok, _, _ := r.Admit(at(20_000)); !ok {
		t.Error("a pod is rejected although space is available: only the taint and the condition remain")
	}
	if reason, message := r.ConditionText(); reason != "KubeletOutOfDisk" || message != "out of disk space. The root filesystem (/data) has 1Mi available, below the threshold of 256Mi." {
		t.Errorf("%s: %s", reason, message)
	}
	if !outOfDisk(20_000) || !outOfDisk(309_000) {
		t.Error("the OutOfDisk condition ends before 5 minutes")
	}
	if outOfDisk(310_000) {
		t.Error("OutOfDisk after 5 minutes")
	}
	reason, message := r.ConditionText()
	if reason != "KubeletHasSufficientDisk" || message != "kubelet has sufficient disk space available" {
		t.Errorf("%s: %s", reason, message)
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
