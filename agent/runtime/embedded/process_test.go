//go:build linux

package embedded

import (
	"errors"
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// TestClosedProcessHasNoFD checks the error of a handle that is closed while another goroutine uses it.
func TestClosedProcessHasNoFD(t *testing.T) {
	fd, err := unix.PidfdOpen(os.Getpid(), unix.PIDFD_NONBLOCK)
	if err != nil {
		t.Fatal(err)
	}
	p, err := watchProcess(os.Getpid(), fd, false)
	if err != nil {
		t.Fatal(err)
	}
	p.close()
	if _, err := p.duplicateFD(); !errors.Is(err, os.ErrClosed) && !errors.Is(err, os.ErrProcessDone) {
		t.Errorf("duplicateFD: %v, want %v", err, os.ErrClosed)
	}
}
