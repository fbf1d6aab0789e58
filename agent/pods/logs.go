package pods

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// rotateLogs rotates the logs of running containers that have reached LogSize. The old file
// gets a time suffix, and the runtime opens a new one.
func (r *Runner) rotateLogs(ctx context.Context) {
	r.mu.Lock()
	list := make([]*run, 0, len(r.runs))
	for _, c := range r.runs {
		list = append(list, c)
	}
	r.mu.Unlock()
	for _, c := range list {
		if ctx.Err() != nil {
			return
		}
		if err := r.rotate(ctx, c); err != nil {
			r.opts.Log.Error(err, "Failed to rotate log", "pod", podKey(c.pod.latest()), "container", c.name)
		}
	}
}

// rotate rotates the log of a running container if it has reached LogSize.
func (r *Runner) rotate(ctx context.Context, c *run) error {
	c.pod.mu.Lock()
	path, id, running := filepath.Join(LogDir(r.opts.Logs, c.pod.object), logPath(c.name, c.attempt)), c.id, c.state == stateRunning
	c.pod.mu.Unlock()
	info, err := os.Stat(path)
	if err != nil || info.Size() < r.opts.LogSize || !running {
		return nil // no log yet, small enough, or no longer written
	}
	rotated := path + "." + time.Now().UTC().Format("20060102-150405.000000")
	if err := os.Rename(path, rotated); err != nil {
		return err
	}
	if err := r.opts.Service.ReopenContainerLog(ctx, id); err != nil {
		// The runtime still writes to the old file: restore its name.
		return errors.Join(fmt.Errorf("reopening %s: %w", path, err), os.Rename(rotated, path))
	}
	return removeOldLogs(path, r.opts.LogFiles-1)
}

// removeOldLogs removes all rotated files of a log except the newest keep ones.
func removeOldLogs(path string, keep int) error {
	files, err := filepath.Glob(path + ".*")
	if err != nil {
		return err
	}
	slices.Sort(files)
	var errs []error
	for _, f := range files[:max(len(files)-max(keep, 0), 0)] {
		errs = append(errs, os.Remove(f))
	}
	return errors.Join(errs...)
}
