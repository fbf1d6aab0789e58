package localnodes

import (
	"errors"
	"fmt"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/berthproject/berth/agent/pods"
	"github.com/berthproject/berth/agent/runtime/cri/containerd"
	"github.com/berthproject/berth/agent/runtime/embedded"
)

// checkMachine returns an error if the embedded runtime cannot use dir on this machine.
func checkMachine(dir string) error {
	return errors.Join(embedded.CheckRequirements(), rejectOverlayFS(dir))
}

// rejectOverlayFS returns an error if dir is on overlayfs, because overlayfs cannot be stacked.
func rejectOverlayFS(dir string) error {
	var fs unix.Statfs_t
	err := unix.Statfs(dir, &fs)
	for ; err == unix.ENOENT && dir != ""; err = unix.Statfs(dir, &fs) {
		dir = filepath.Dir(dir)
	}
	if err != nil || fs.Type != unix.OVERLAYFS_SUPER_MAGIC {
		return nil
	}
	return fmt.Errorf("%s is on overlayfs, which cannot hold container file systems (choose another disk with --root-dir)", dir)
}

// CheckContainerd returns an error that names what containerd lacks for virtual nodes on this machine.
func CheckContainerd() error { return containerd.CheckRequirements(true) }

// CheckNameservers returns an error if pods cannot use the nameservers of resolvConf.
func CheckNameservers(resolvConf string) error { return pods.CheckNameservers(resolvConf) }

// MachineMemory returns the memory of this machine in bytes.
func MachineMemory() (int64, error) {
	var machine unix.Sysinfo_t
	if err := unix.Sysinfo(&machine); err != nil {
		return 0, err
	}
	return int64(machine.Totalram) * int64(machine.Unit), nil
}
