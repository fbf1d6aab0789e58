package pods

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/berthproject/berth/agent/runtime"
)

// leaving is how far a pod that is to go has come.
type leaving struct {
	asked  bool // nothing of it is to run
	forget bool // and nothing to be left of it
	busy   bool // somebody is at it
	free   bool // what it held is let go, and said so
}

// cgroupLimit is how long one try waits for the processes of a cgroup to die.
const cgroupLimit = 5 * time.Second

// leave lets go of what a pod holds; forget removes all that is left of it, too.
func (p *pod) leave(forget bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cancel()
	p.leaving.asked = true
	p.leaving.forget = p.leaving.forget || forget
	if !forget && p.leaving.free {
		p.runner.report(runtime.Report{Pod: p.object.UID, Released: true})
	}
	p.nudge()
	if !p.leaving.busy {
		p.leaving.busy = true
		p.runner.spawn(p.clear)
	}
}

// clear does what leave asks for, again and again until it is done.
func (p *pod) clear() {
	r := p.runner
	p.idle.Wait()
	for wait := 100 * time.Millisecond; ; wait = min(2*wait, maxPause) {
		p.mu.Lock()
		forget, free := p.leaving.forget, p.leaving.free
		p.mu.Unlock()
		var err error
		if !free {
			if err = p.release(); err == nil {
				p.mu.Lock()
				p.leaving.free = true
				r.report(runtime.Report{Pod: p.object.UID, Released: true})
				p.mu.Unlock()
			}
		}
		if err == nil && forget {
			err = p.remove()
		}
		if err == nil && p.cleared(forget) {
			return
		}
		if r.ctx.Err() != nil {
			return // the next agent goes on
		}
		if err != nil {
			r.opts.Log.Info("A pod is not cleared away yet", "pod", key(p.seen()), "why", err.Error(), "again", wait)
			pause(r.ctx, wait, p.wake)
		}
	}
}

// cleared ends the clearing, unless more has been asked for meanwhile.
func (p *pod) cleared(forgotten bool) bool {
	r := p.runner
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.leaving.forget != forgotten {
		return false
	}
	p.leaving.busy = false
	if forgotten {
		r.mu.Lock()
		delete(r.pods, p.object.UID)
		r.mu.Unlock()
		r.past.forget(p.object.UID)
	}
	return true
}

// release stops what runs, and lets go of sandbox, volumes and cgroup.
func (p *pod) release() error {
	r := p.runner
	uid := p.seen().UID
	if r.opts.Prober != nil {
		p.unprobe()
	}
	ctx, cancel := context.WithTimeout(r.ctx, time.Minute)
	defer cancel()
	all, err := r.list(ctx, map[string]string{uidLabel: string(uid)})
	if err != nil {
		return err
	}
	f := all[uid]
	if f == nil {
		f = &found{}
	}
	p.lastCall(f.containers)
	for _, b := range f.boxes {
		if b.GetState() == cri.PodSandboxState_SANDBOX_READY || b.GetId() == p.boxID() {
			if err := r.opts.Service.StopPodSandbox(r.ctx, b.GetId()); err != nil && !missing(err) {
				return fmt.Errorf("sandbox %s: %w", b.GetId(), err)
			}
		}
	}
	p.endRuns()
	if err := r.opts.Volumes.Teardown(uid); err != nil {
		return fmt.Errorf("volumes: %w", err)
	}
	if err := r.removeCgroups(r.ctx, p.seen()); err != nil {
		return err
	}
	if r.opts.Cgroups != nil {
		r.weigh()
	}
	return nil
}

// lastGrace is what a container gets that still runs when its pod is gone: the kubelet's minimum.
const lastGrace = 2 * time.Second

// lastCall asks containers that still run to end, and has them killed after lastGrace: only those of a pod whose
// object was removed by force, or of which the API server knows nothing, still run here.
func (p *pod) lastCall(containers []*cri.Container) {
	var asked sync.WaitGroup
	for _, c := range containers {
		if c.GetState() == cri.ContainerState_CONTAINER_RUNNING {
			asked.Go(func() {
				if err := p.runner.opts.Service.StopContainer(p.runner.ctx, c.GetId(), lastGrace); err != nil {
					p.runner.opts.Log.V(1).Info("A container is ended with its sandbox", "pod", key(p.seen()), "container", c.GetId(), "why", err.Error())
				}
			})
		}
	}
	asked.Wait()
}

func (p *pod) boxID() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.box.id
}

// endRuns takes in that all containers have ended with their sandbox.
func (p *pod) endRuns() {
	r := p.runner
	p.mu.Lock()
	var left []string
	for _, c := range p.runs {
		if c.state == up {
			left = append(left, c.id)
		}
	}
	p.mu.Unlock()
	for _, id := range left {
		r.look(id)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.runs {
		if c.state != ended {
			p.never(c)
		}
		r.untrack(c.id)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.sandboxes, p.box.id)
	p.box.id = ""
}

// removeCgroups removes the pod's cgroup, in whichever level it is, with what still is in it.
func (r *Runner) removeCgroups(ctx context.Context, pod *corev1.Pod) error {
	if r.opts.Cgroups == nil {
		return nil
	}
	for _, level := range levels(r.opts.CgroupRoot) {
		path := level + "/pod" + string(pod.UID)
		if !r.opts.Cgroups.Exists(path) && path != Cgroup(r.opts.CgroupRoot, pod) {
			continue
		}
		if err := r.opts.Cgroups.Kill(path); err != nil {
			return err
		}
		limited, cancel := context.WithTimeout(ctx, cgroupLimit)
		err := r.opts.Cgroups.Remove(limited, path)
		cancel()
		if err != nil {
			return err
		}
	}
	return nil
}

// remove removes what release has left: containers, sandboxes, logs, the pod's directory.
func (p *pod) remove() error {
	r, pod := p.runner, p.seen()
	all, err := r.list(r.ctx, map[string]string{uidLabel: string(pod.UID)})
	if err != nil {
		return err
	}
	if f := all[pod.UID]; f != nil {
		for _, c := range f.containers {
			if err := r.opts.Service.RemoveContainer(r.ctx, c.GetId()); err != nil && !missing(err) {
				return err
			}
		}
		for _, b := range f.boxes {
			if err := r.removeSandbox(b.GetId()); err != nil {
				return err
			}
		}
	}
	return errors.Join(r.removeDir(pod.UID), os.RemoveAll(LogDir(r.opts.Logs, pod)))
}

// removeDir removes a pod's directory. Its volumes are gone: what is still mounted keeps it.
func (r *Runner) removeDir(uid types.UID) error {
	if uid == "" {
		return errors.New("a pod without uid has no directory")
	}
	if err := r.opts.Volumes.Teardown(uid); err != nil {
		return err
	}
	return os.RemoveAll(r.dir(uid))
}
