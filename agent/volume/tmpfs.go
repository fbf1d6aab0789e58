package volume

import (
	"errors"
	"fmt"
	"io/fs"

	"golang.org/x/sys/unix"

	"github.com/berthproject/berth/agent/mounts"
)

// mountTmpfs mounts a tmpfs on dir unless one is mounted. With size 0 the kernel's default
// applies, half of the machine's memory.
func mountTmpfs(dir string, size int64, mode fs.FileMode, group int) error {
	points, err := mounts.At(dir)
	if err != nil {
		return err
	}
	for _, p := range points {
		if p == dir {
			return nil
		}
	}
	options := fmt.Sprintf("mode=%04o", mode)
	if group != noFSGroup {
		options = fmt.Sprintf("mode=%04o,gid=%d", mode|unix.S_ISGID|0o550, group)
	}
	if size > 0 {
		options += fmt.Sprintf(",size=%d", size)
	}
	// noswap needs Linux 6.3 and fails in user namespaces.
	if unix.Mount("tmpfs", dir, "tmpfs", 0, options+",noswap") == nil {
		return nil
	}
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, options); err != nil {
		return fmt.Errorf("mounting tmpfs on %s: %w", dir, err)
	}
	return nil
}

// unmount unmounts dir. A busy mount is detached. It succeeds if nothing is mounted there.
func unmount(dir string) error {
	err := unix.Unmount(dir, unix.UMOUNT_NOFOLLOW)
	if errors.Is(err, unix.EBUSY) {
		err = unix.Unmount(dir, unix.UMOUNT_NOFOLLOW|unix.MNT_DETACH)
	}
	if err != nil && !errors.Is(err, unix.EINVAL) && !errors.Is(err, unix.ENOENT) { // EINVAL: not mounted
		return fmt.Errorf("unmounting %s: %w", dir, err)
	}
	return nil
}
