package unpack

import (
	"errors"
	"math"
	"testing"

	"golang.org/x/sys/unix"
)

// TestBudgetDoesNotOverflow checks that a budget stays exceeded once it is exceeded.
func TestBudgetDoesNotOverflow(t *testing.T) {
	b := NewBudget(Size{Bytes: 1 << 30, Inodes: 10}, t.TempDir(), 0)
	for i := range 5 {
		if err := b.charge(Size{Bytes: 1 << 62, Inodes: math.MaxInt64}); !errors.Is(err, ErrTooLarge) {
			t.Errorf("charge %d: %v, want ErrTooLarge", i, err)
		}
	}
}

// TestBudgetKeepsMinFree checks that a file that would fill the disk is rejected before it is written.
func TestBudgetKeepsMinFree(t *testing.T) {
	dir := t.TempDir()
	var fs unix.Statfs_t
	if err := unix.Statfs(dir, &fs); err != nil {
		t.Fatal(err)
	}
	free := int64(fs.Bavail) * fs.Bsize
	if err := NewBudget(Size{Bytes: math.MaxInt64, Inodes: 10}, dir, free/4).charge(Size{Bytes: free / 8 * 7, Inodes: 1}); !errors.Is(err, ErrTooLarge) {
		t.Errorf("charge: %v, want ErrTooLarge", err)
	}
	if err := NewBudget(Size{Bytes: math.MaxInt64, Inodes: 10}, dir, free/4).charge(Size{Bytes: free / 8, Inodes: 1}); err != nil {
		t.Error(err)
	}
}
