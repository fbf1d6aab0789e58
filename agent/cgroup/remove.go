package cgroup

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// Remove removes the cgroup and its descendants from every hierarchy, including cgroups created
// by the runtime. While the cgroup has processes, which may be exiting, it retries until ctx is done.
// It is a no-op if the cgroup does not exist.
func (h *Host) Remove(ctx context.Context, path string) error {
	if filepath.Clean("/"+path) == "/" {
		return errors.New("cgroup /: the root cgroup cannot be removed")
	}
	wait := time.Millisecond
	for {
		var errs []error
		for _, dir := range h.allDirs(path) {
			errs = append(errs, removeTree(dir))
		}
		err := errors.Join(errs...)
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("cgroup %s: %w", path, err)
		case <-time.After(wait):
			wait = min(2*wait, 100*time.Millisecond)
		}
	}
}

// removeTree removes root and its subdirectories, bottom-up.
func removeTree(root string) error {
	var dirs []string
	err := filepath.WalkDir(root, func(dir string, d fs.DirEntry, err error) error {
		if err != nil {
			return ignoreRemoved(err)
		}
		if d.IsDir() {
			dirs = append(dirs, dir)
		}
		return nil
	})
	if err != nil {
		return err
	}
	var errs []error
	for _, dir := range slices.Backward(dirs) {
		if err := ignoreRemoved(os.Remove(dir)); err != nil {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}
