package mounts

import (
	"errors"
	"fmt"
	"slices"

	"github.com/moby/sys/mountinfo"
	"golang.org/x/sys/unix"
)

// At returns the mount points at and below dir, in mount order.
func At(dir string) ([]string, error) {
	list, err := mountinfo.GetMounts(mountinfo.PrefixFilter(dir))
	if err != nil {
		return nil, fmt.Errorf("listing mounts below %s: %w", dir, err)
	}
	var out []string
	for _, m := range list {
		out = append(out, m.Mountpoint)
	}
	return out, nil
}

// Below returns the mount points below dir, without dir itself.
func Below(dir string) ([]string, error) {
	list, err := At(dir)
	return slices.DeleteFunc(list, func(point string) bool { return point == dir }), err
}

// Unmount unmounts the points in reverse order. Points that are not mounted are no error. With
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
