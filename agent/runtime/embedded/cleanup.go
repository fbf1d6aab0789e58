package embedded

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/berthproject/berth/agent/cgroup"
	"github.com/berthproject/berth/agent/network"
	"github.com/berthproject/berth/agent/runtime/embedded/shim"
)

// parallelRemovals is the number of pods removed in parallel, since each removal waits for
// processes.
const parallelRemovals = 8

// Destroy stops and removes all sandboxes and containers, the network and the directory. It keeps
// images, and cgroups that callers passed as cgroup_parent.
func (r *Runtime) Destroy(ctx context.Context) error {
	sandboxes, err := r.ListPodSandbox(ctx, nil)
	errs := make([]error, len(sandboxes), len(sandboxes)+4)
	var wg sync.WaitGroup
	slots := make(chan struct{}, parallelRemovals)
	for i, s := range sandboxes {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			errs[i] = r.RemovePodSandbox(ctx, s.GetId())
		})
	}
	wg.Wait()
	for _, c := range r.allContainers() { // those without a sandbox
		errs = append(errs, r.RemoveContainer(ctx, c.record.ID))
	}
	return errors.Join(append(errs, err, r.Close(), Cleanup(ctx, r.opts))...)
}

// RemoveNetworkIfUnused removes the bridge and its firewall rules if there are no sandboxes. The
// next runtime creates them again.
func (r *Runtime) RemoveNetworkIfUnused(ctx context.Context) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.network == nil || len(r.sandboxes) > 0 {
		return nil
	}
	return network.TearDown(ctx, network.Options{Dir: r.opts.networkDir(), Bridge: r.opts.Bridge})
}

// Cleanup removes what a killed runtime with these options left: processes, mounts, network and
// files. It needs only Dir and Bridge. It keeps cgroups that callers passed as cgroup_parent.
func Cleanup(ctx context.Context, o Options) error {
	host, err := cgroup.Detect()
	if err != nil {
		return err
	}
	lock, err := lockDir(o.Dir)
	if errors.Is(err, os.ErrNotExist) {
		return network.Remove(ctx, network.Options{Dir: o.networkDir(), Bridge: o.Bridge})
	}
	if err != nil {
		return err
	}
	defer lock.Close()
	var errs []error
	dirs, _ := filepath.Glob(filepath.Join(o.containersDir(), "*"))
	for _, dir := range dirs {
		if c, err := loadContainer(dir); err == nil {
			errs = append(errs, cleanupContainer(ctx, host, newContainer(dir, c)))
		}
	}
	dirs, _ = filepath.Glob(filepath.Join(o.sandboxesDir(), "*"))
	for _, dir := range dirs {
		if record, err := loadSandbox(dir); err == nil {
			s := &sandbox{dir: dir, record: record}
			errs = append(errs, host.Kill(record.Group), host.Remove(ctx, record.Group), s.unmountShm())
		}
	}
	errs = append(errs, network.Remove(ctx, network.Options{Dir: o.networkDir(), Bridge: o.Bridge}))
	if err := errors.Join(errs...); err != nil {
		return err // keep the records of processes that still run
	}
	for _, dir := range []string{o.containersDir(), o.sandboxesDir(), lock.Name()} {
		errs = append(errs, os.RemoveAll(dir))
	}
	host.RemoveRuntime()
	_ = os.Remove(o.Dir) // fails for a mount point or other contents
	return errors.Join(errs...)
}

// cleanupContainer kills a container and waits until its shim has exited.
func cleanupContainer(ctx context.Context, host *cgroup.Host, c *container) error {
	for {
		if err := host.Kill(c.record.Group); err != nil {
			return err
		}
		running, err := c.shimRunning()
		if err != nil {
			return err
		}
		if !running {
			break
		}
		if ids, err := shim.ReadProcesses(c.dir); err == nil {
			if p := findProcess(ids.Container, ids.Start); p != nil {
				p.kill(unix.SIGKILL) // it may not have joined its cgroup yet
				p.close()
			}
		}
		if err := sleep(ctx); err != nil {
			return err
		}
	}
	return host.Remove(ctx, c.record.Group)
}
