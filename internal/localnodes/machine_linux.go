package localnodes

import (
	"errors"
	"fmt"
	"path/filepath"

	"golang.org/x/sys/unix"
	"k8s.io/klog/v2"

	"github.com/berthproject/berth/agent/cgroup"
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

// ReserveCPU gives this process more weight than all pods together, and than most other programs of the machine. The caller
// must call release at the end. It has no effect if this process is already in a cgroup, for example of a systemd unit,
// whose weight applies then.
func ReserveCPU(log klog.Logger) (release func()) {
	host, err := cgroup.Detect()
	leave := func() error { return nil }
	if err == nil {
		leave, err = host.JoinSystem()
	}
	if err != nil {
		log.Error(err, "Failed to reserve CPU time for this process")
	}
	return func() {
		if err := leave(); err != nil {
			log.Error(err, "Failed to release the reserved CPU time")
		}
	}
}

// MachineMemory returns the memory of this machine in bytes.
func MachineMemory() (int64, error) {
	var machine unix.Sysinfo_t
	if err := unix.Sysinfo(&machine); err != nil {
		return 0, err
	}
	return int64(machine.Totalram) * int64(machine.Unit), nil
}
