//go:build !linux

package mounts

import "errors"

// Unmount returns an error: only Linux mounts volumes.
func Unmount([]string, bool) error { return errors.New("unmounting volumes requires Linux") }
