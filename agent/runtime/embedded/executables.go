package embedded

import (
	"fmt"
	"math"
	"os"

	"golang.org/x/sys/unix"

	"github.com/berthproject/berth/agent/runtime/pause"
)

// executables are the programs that the runtime executes: this program and the pause program.
type executables struct {
	fd, pause int // file descriptors; -1 if not open
}

// openExecutables opens both programs. It opens this program through a read-only mount, because a
// container may get access to the file from which its first process was started.
func openExecutables() (*executables, error) {
	e := &executables{fd: -1, pause: -1}
	// Containers must not inherit files that were inherited by this process.
	if err := unix.CloseRange(3, math.MaxUint32, unix.CLOSE_RANGE_CLOEXEC); err != nil {
		return nil, fmt.Errorf("embedded runtime: close_range: %w", err)
	}
	fd, err := unix.OpenTree(unix.AT_FDCWD, "/proc/self/exe", unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC)
	if err == nil {
		e.fd = fd
		err = unix.MountSetattr(fd, "", unix.AT_EMPTY_PATH, &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY})
	}
	if err != nil {
		e.close()
		return nil, fmt.Errorf("embedded runtime: opening this program's executable: %w", err)
	}
	program, err := pause.Program()
	if err != nil {
		e.close()
		return nil, err
	}
	if e.pause, err = unix.MemfdCreate("berth-sandbox", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING); err == nil {
		if _, err = unix.Write(e.pause, program); err == nil {
			_, err = unix.FcntlInt(uintptr(e.pause), unix.F_ADD_SEALS, unix.F_SEAL_WRITE|unix.F_SEAL_GROW|unix.F_SEAL_SHRINK|unix.F_SEAL_SEAL)
		}
	}
	if err != nil {
		e.close()
		return nil, fmt.Errorf("embedded runtime: creating the pause program: %w", err)
	}
	return e, nil
}

// path returns the path of this program for execve.
func (e *executables) path() string { return fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), e.fd) }

func (e *executables) close() {
	for _, fd := range []int{e.fd, e.pause} {
		if fd >= 0 {
			_ = unix.Close(fd)
		}
	}
}
