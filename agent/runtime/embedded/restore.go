package embedded

import (
	"errors"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"github.com/berthproject/berth/agent/runtime/embedded/shim"
)

// restore adopts the sandboxes and containers of an earlier agent. Running containers continue;
// incomplete objects are removed.
func (r *Runtime) restore() error {
	dirs, err := os.ReadDir(r.opts.sandboxesDir())
	if err != nil {
		return err
	}
	for _, d := range dirs {
		dir := filepath.Join(r.opts.sandboxesDir(), d.Name())
		record, err := loadSandbox(dir)
		if errors.Is(err, os.ErrNotExist) { // nothing else was created
			if err := os.RemoveAll(dir); err != nil {
				return err
			}
			continue
		}
		if err != nil {
			return err
		}
		s := &sandbox{dir: dir, record: record}
		if record.Boot == bootID() {
			s.process = findProcess(record.Process, record.Start)
		}
		r.sandboxes[record.ID] = s
	}
	if dirs, err = os.ReadDir(r.opts.containersDir()); err != nil {
		return err
	}
	for _, d := range dirs {
		if err := r.restoreContainer(filepath.Join(r.opts.containersDir(), d.Name()), d.Name()); err != nil {
			return err
		}
	}
	for _, s := range r.sandboxes {
		if !s.isComplete() {
			if err := r.removeSandbox(s); err != nil {
				return err
			}
		}
	}
	if r.network == nil {
		return nil
	}
	return r.network.GC(func(id string) bool { s := r.sandboxes[id]; return s != nil && !s.record.Down })
}

// isComplete reports whether the creation of the sandbox was completed. An incomplete one was
// never returned to a caller.
func (s *sandbox) isComplete() bool {
	return s.record.Process > 0 && (s.hostNetwork() || s.record.Address != "")
}

// restoreContainer adopts a container, or removes it if its creation was incomplete.
func (r *Runtime) restoreContainer(dir, id string) error {
	record, err := loadContainer(dir)
	if errors.Is(err, os.ErrNotExist) {
		return r.removeFiles(dir, id)
	}
	if err != nil {
		return err
	}
	c := newContainer(dir, record)
	r.containers[id] = c
	if _, err := os.Stat(filepath.Join(dir, shim.ConfigFile)); errors.Is(err, os.ErrNotExist) {
		return r.removeContainer(c) // incomplete
	}
	running, err := c.shimRunning()
	if err != nil {
		return err
	}
	if running {
		return r.restoreRunning(c)
	}
	exit, err := shim.ReadExit(dir)
	if err == nil {
		if ids, err := shim.ReadProcesses(dir); err == nil && exit.Reason != "StartError" {
			c.started, c.user = ids.Started, readUser(c.dir)
		}
		c.oom = r.host.OOMKills(record.Group) > 0
		c.exit = &exit
		close(c.exited)
		return nil
	}
	if c.notStarted() {
		return nil
	}
	// The shim was killed.
	if ids, err := shim.ReadProcesses(dir); err == nil {
		c.started, c.user = ids.Started, readUser(c.dir)
	}
	c.shim = exitedProcess()
	go r.monitor(c)
	return nil
}

// notStarted reports whether the container had no shim, or its shim exited before the agent claimed
// it (shim.Go). An unclaimed shim removes its lock file.
func (c *container) notStarted() bool {
	for _, file := range []string{shim.LockFile, shim.ExitFile} {
		if _, err := os.Stat(filepath.Join(c.dir, file)); !errors.Is(err, os.ErrNotExist) {
			return false
		}
	}
	return true
}

// shimRunning reports whether the container's shim holds its lock.
func (c *container) shimRunning() (bool, error) {
	f, err := os.OpenFile(filepath.Join(c.dir, shim.LockFile), os.O_RDWR, 0)
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer f.Close()
	err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return true, nil
	}
	return false, err
}

// restoreRunning adopts a container whose shim is running. It waits for a container that is
// starting.
func (r *Runtime) restoreRunning(c *container) error {
	for deadline := time.Now().Add(killTimeout); ; time.Sleep(5 * time.Millisecond) {
		ids, err := shim.ReadProcesses(c.dir)
		if err == nil {
			c.started, c.user = ids.Started, readUser(c.dir)
			c.initProcess = findProcess(ids.Container, ids.Start)
			if c.shim = findProcess(ids.Shim, ids.ShimStart); c.shim == nil {
				c.shim = exitedProcess()
			}
			go r.monitor(c)
			return nil
		}
		running, lockErr := c.shimRunning()
		if lockErr != nil {
			return lockErr
		}
		if !running && c.notStarted() {
			return nil
		}
		if !running || time.Now().After(deadline) {
			c.shim = exitedProcess()
			go r.monitor(c)
			return nil
		}
	}
}

// exitedProcess returns a process that has exited.
func exitedProcess() *process {
	p := &process{exited: make(chan struct{})}
	close(p.exited)
	return p
}
