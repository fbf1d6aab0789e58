package localprovisioner

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// unmountAll unmounts all file systems that an agent on this machine has mounted at a volume's directory.
func unmountAll(dir string) error {
	for {
		err := unix.Unmount(dir, unix.UMOUNT_NOFOLLOW|unix.MNT_DETACH)
		switch {
		case errors.Is(err, unix.EINVAL), errors.Is(err, unix.ENOENT), errors.Is(err, unix.EPERM): // not mounted, or not by this user
			return nil
		case err != nil:
			return fmt.Errorf("unmounting %s: %w", dir, err)
		}
	}
}
