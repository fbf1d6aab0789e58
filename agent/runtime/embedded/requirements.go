package embedded

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/berthproject/berth/agent/cgroup"
)

// CheckRequirements returns an error that names what this machine lacks to run containers. Each
// joined error is one line.
func CheckRequirements() error {
	if os.Geteuid() != 0 {
		return errors.New("not root: containers require namespaces, mounts and cgroups")
	}
	var errs []error
	addError := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	for bit, name := range map[int]string{12: "CAP_NET_ADMIN", 21: "CAP_SYS_ADMIN"} {
		if !hasCapability(bit) {
			addError("root without %s: running in a container or otherwise confined", name)
		}
	}
	host, err := cgroup.Detect()
	if err != nil {
		errs = append(errs, err)
	} else {
		for _, c := range []string{"memory", "cpu", "pids"} {
			if !host.HasController(c) {
				addError("missing cgroup controller %s", c)
			}
		}
		if err := host.CheckWritable(); err != nil {
			errs = append(errs, err)
		}
	}
	if ids, err := os.ReadFile("/proc/self/uid_map"); err == nil && !slices.Equal(strings.Fields(string(ids)), []string{"0", "0", "4294967295"}) {
		addError("root only in a user namespace")
	}
	if kinds, err := os.ReadFile("/proc/filesystems"); err == nil && !slices.Contains(strings.Fields(string(kinds)), "overlay") {
		addError("kernel without overlayfs (try: modprobe overlay)")
	}
	for _, name := range []string{"mnt", "pid", "net", "ipc", "uts"} {
		if _, err := os.Stat("/proc/self/ns/" + name); err != nil {
			addError("kernel without %s namespaces", name)
		}
	}
	// mount_setattr is the newest required system call: Linux 5.12.
	if err := unix.MountSetattr(-1, "", unix.AT_EMPTY_PATH, &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY}); err == unix.ENOSYS {
		addError("kernel older than Linux 5.12: no mount_setattr")
	}
	slices.SortFunc(errs, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	return errors.Join(errs...)
}

func hasCapability(bit int) bool {
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return false
	}
	_, after, _ := strings.Cut(string(text), "CapEff:")
	mask, _, _ := strings.Cut(strings.TrimSpace(after), "\n")
	bits, err := strconv.ParseUint(strings.TrimSpace(mask), 16, 64)
	return err == nil && bits&(1<<bit) != 0
}
