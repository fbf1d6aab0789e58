package mounts

import (
	"errors"
	"fmt"
	"slices"

	"golang.org/x/sys/unix"
)

// Unmount unmounts the points in reverse order. It ignores points that are not mounted. With
// detach, busy mounts are detached and disappear when they are no longer used.
func Unmount(points []string, detach bool) error {
	flags := unix.UMOUNT_NOFOLLOW
	if detach {
		flags |= unix.MNT_DETACH
	}
	var errs []error
	for _, point := range slices.Backward(points) {
		if err := unix.Unmount(point, flags); err != nil && !errors.Is(err, unix.EINVAL) && !errors.Is(err, unix.ENOENT) {
			errs = append(errs, fmt.Errorf("unmounting %s: %w", point, err))
		}
	}
	return errors.Join(errs...)
}
