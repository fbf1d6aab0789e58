package pods

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/berthproject/berth/agent/runtime"
)

// teardown is the progress of a pod's removal.
type teardown struct {
	requested bool // no container may start or run
	remove    bool // remove logs, directories and exited containers too
	purge     bool // remove what uses disk space; the Runner keeps the pod
	running   bool // a goroutine performs the teardown
	released  bool // resources are released, and the release is reported
}

// cgroupRemoveTimeout bounds one wait for the processes of a cgroup to exit.
const cgroupRemoveTimeout = 5 * time.Second

// startTeardown releases the resources of a pod. If remove is set, it also deletes logs,
// directories and exited containers.
func (p *pod) startTeardown(remove bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cancel()
	p.teardown.requested = true
	p.teardown.remove = p.teardown.remove || remove
	if !remove && p.teardown.released {
		p.runner.report(runtime.Report{Pod: p.object.UID, Released: true})
	}
	p.wakeWorker()
	if !p.teardown.running {
		p.teardown.running = true
		p.runner.startWorker(p.runTeardown)
	}
}

// runTeardown performs the teardown and retries until it succeeds.
func (p *pod) runTeardown() {
	r := p.runner
	p.workers.Wait()
	for wait := 100 * time.Millisecond; ; wait = min(2*wait, maxRetryDelay) {
		p.mu.Lock()
		remove, purge, released := p.teardown.remove, p.teardown.purge, p.teardown.released
		p.mu.Unlock()
		var err error
		if !released {
			if err = p.release(); err == nil {
				p.mu.Lock()
				p.teardown.released = true
				r.report(runtime.Report{Pod: p.object.UID, Released: true})
				p.mu.Unlock()
			}
		}
		switch {
		case err == nil && remove:
			err = p.remove()
		case err == nil && purge:
			err = p.purge()
		}
		if err == nil && p.finishTeardown(remove, purge) {
			return
		}
		if r.ctx.Err() != nil {
			return // the next agent continues
		}
		if err != nil {
			r.opts.Log.Info("Failed to tear down pod; retrying", "pod", podKey(p.latest()), "err", err.Error(), "retryAfter", wait)
			sleep(r.ctx, wait, p.wake)
		}
	}
}

// finishTeardown ends the teardown unless more was requested in the meantime. It reports whether the
// teardown has ended.
func (p *pod) finishTeardown(removed, purged bool) bool {
	r := p.runner
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.teardown.remove != removed || p.teardown.purge != purged {
		return false
	}
	p.teardown.running = false
	if removed {
		r.initial.forget(p.object.UID)
		r.mu.Lock()
		delete(r.pods, p.object.UID)
		r.mu.Unlock()
	}
	return true
}

// release stops all containers and releases sandbox, volumes and cgroup.
func (p *pod) release() error {
	r := p.runner
	uid := p.latest().UID
	if r.opts.Prober != nil {
		p.stopProbes()
	}
	ctx, cancel := context.WithTimeout(r.ctx, time.Minute)
	defer cancel()
	all, err := r.listExisting(ctx, map[string]string{podUIDLabel: string(uid)})
	if err != nil {
		return err
	}
	existing := all[uid]
	if existing == nil {
		existing = &existingPod{}
	}
	p.stopRemaining(existing.containers)
	for _, s := range existing.sandboxes {
		if s.GetState() == cri.PodSandboxState_SANDBOX_READY || s.GetId() == p.sandboxID() {
			if err := r.opts.Service.StopPodSandbox(r.ctx, s.GetId()); err != nil && !isNotFound(err) {
				return fmt.Errorf("sandbox %s: %w", s.GetId(), err)
			}
		}
	}
	p.finishRuns()
	if err := r.opts.Volumes.Teardown(uid); err != nil {
		return fmt.Errorf("removing the volumes: %w", err)
	}
	if err := r.removeCgroups(r.ctx, p.latest()); err != nil {
		return err
	}
	if r.opts.Cgroups != nil {
		r.updateQoSCgroups()
	}
	return nil
}

// orphanGracePeriod is the grace period of containers whose pod was deleted: the kubelet's minimum.
const orphanGracePeriod = 2 * time.Second

// stopRemaining stops containers that still run, with orphanGracePeriod. Only pods that were
// force-deleted, or that the API server does not have, still have running containers here.
func (p *pod) stopRemaining(containers []*cri.Container) {
	var stops sync.WaitGroup
	for _, c := range containers {
		if c.GetState() == cri.ContainerState_CONTAINER_RUNNING {
			stops.Go(func() {
				if err := p.runner.opts.Service.StopContainer(p.runner.ctx, c.GetId(), orphanGracePeriod); err != nil {
					p.runner.opts.Log.V(1).Info("Failed to stop container, stopping its sandbox", "pod", podKey(p.latest()), "container", c.GetId(), "err", err.Error())
				}
			})
		}
	}
	stops.Wait()
}

func (p *pod) sandboxID() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.sandbox.id
}

// finishRuns reports the exit of all containers after their sandbox was stopped.
func (p *pod) finishRuns() {
	r := p.runner
	p.mu.Lock()
	var running []string
	for _, c := range p.runs {
		if c.state == stateRunning {
			running = append(running, c.id)
		}
	}
	p.mu.Unlock()
	for _, id := range running {
		r.inspect(id)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.runs {
		if c.state != stateExited {
			p.finishNotFound(c)
		}
		r.untrack(c.id)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.sandboxes, p.sandbox.id)
	p.sandbox.id = ""
}

// removeCgroups removes the pod's cgroup from all QoS classes and kills its processes.
func (r *Runner) removeCgroups(ctx context.Context, pod *corev1.Pod) error {
	if r.opts.Cgroups == nil {
		return nil
	}
	for _, level := range qosCgroups(r.opts.CgroupRoot) {
		path := level + "/pod" + string(pod.UID)
		if !r.opts.Cgroups.Exists(path) && path != Cgroup(r.opts.CgroupRoot, pod) {
			continue
		}
		if err := r.opts.Cgroups.Kill(path); err != nil {
			return err
		}
		removeCtx, cancel := context.WithTimeout(ctx, cgroupRemoveTimeout)
		err := r.opts.Cgroups.Remove(removeCtx, path)
		cancel()
		if err != nil {
			return err
		}
	}
	return nil
}

// Purge releases the resources of a terminated pod and deletes its containers, logs and files, so
// that their disk space is free. The kubelet also deletes the containers of evicted pods.
func (r *Runner) Purge(uid types.UID) {
	p := r.lookup(uid)
	if p == nil {
		return
	}
	p.mu.Lock()
	p.teardown.purge = true
	p.mu.Unlock()
	p.startTeardown(false)
}

// purge deletes the containers and files that use disk space.
func (p *pod) purge() error {
	r, pod := p.runner, p.latest()
	if err := p.removeContainers(); err != nil {
		return err
	}
	errs := []error{os.RemoveAll(LogDir(r.opts.Logs, pod)), os.RemoveAll(filepath.Join(r.podDir(pod.UID), messagesDir))}
	for _, file := range SharedFiles(r.opts.Root, pod) {
		if err := os.Remove(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// remove removes what release keeps: containers, sandboxes, logs and the pod's directory.
func (p *pod) remove() error {
	r, pod := p.runner, p.latest()
	if err := p.removeContainers(); err != nil {
		return err
	}
	if err := errors.Join(r.removeDir(pod.UID), os.RemoveAll(LogDir(r.opts.Logs, pod))); err != nil {
		return err
	}
	r.opts.UserNamespaces.Release(pod.UID) // no file or process of the pod has these IDs
	return nil
}

// removeContainers removes the exited containers and sandboxes of the pod.
func (p *pod) removeContainers() error {
	r, uid := p.runner, p.latest().UID
	all, err := r.listExisting(r.ctx, map[string]string{podUIDLabel: string(uid)})
	if err != nil {
		return err
	}
	existing := all[uid]
	if existing == nil {
		return nil
	}
	for _, c := range existing.containers {
		if err := r.opts.Service.RemoveContainer(r.ctx, c.GetId()); err != nil && !isNotFound(err) {
			return err
		}
	}
	for _, s := range existing.sandboxes {
		if err := r.removeSandbox(s.GetId()); err != nil {
			return err
		}
	}
	return nil
}

// removeDir unmounts a pod's volumes and removes its directory. It fails if a volume cannot be
// unmounted.
func (r *Runner) removeDir(uid types.UID) error {
	if uid == "" {
		return errors.New("removing pod directory: empty pod UID")
	}
	if err := r.opts.Volumes.Teardown(uid); err != nil {
		return err
	}
	return os.RemoveAll(r.podDir(uid))
}
