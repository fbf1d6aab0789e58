package mounts

import (
	"fmt"
	"slices"

	"github.com/moby/sys/mountinfo"
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
