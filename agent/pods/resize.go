package pods

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"path"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/berthproject/berth/agent/cgroup"
	"github.com/berthproject/berth/agent/runtime"
)

// resize is the resize of a pod in progress. It is guarded by pod.mu.
type resize struct {
	target  *corev1.Pod // nil if there is none
	actual  runtime.Resources
	running bool
	wake    chan struct{} // signals a new target to runResize
}

// Resize implements runtime.Runtime.
func (r *Runner) Resize(object *corev1.Pod, actual runtime.Resources) {
	p := r.getOrCreate(object)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.resize.target = object
	if p.resize.running { // the resize in progress tracks what it has applied
		select {
		case p.resize.wake <- struct{}{}:
		default:
		}
		return
	}
	p.resize.actual, p.resize.wake, p.resize.running = actual.Clone(), make(chan struct{}, 1), true
	p.workers.Add(1)
	if !r.startWorker(func() { defer p.workers.Done(); p.runResize() }) {
		p.workers.Done()
	}
}

// recordResources updates the resize in progress with the resources of a container that has started.
// Otherwise the resize would report those of the previous run. p.mu must be held.
func (p *pod) recordResources(c *run) {
	if _, resizable := p.resize.actual.Containers[c.name]; resizable && p.resize.running && c.resources != nil {
		p.resize.actual.Containers[c.name] = *c.resources
	}
}

// runResize applies the target and retries until it succeeds or the pod ends.
func (p *pod) runResize() {
	wait := p.runner.retryDelay
	for {
		p.mu.Lock()
		target, wake := p.resize.target, p.resize.wake
		p.mu.Unlock()
		err := p.applyResources(p.ctx, target)
		p.mu.Lock()
		if p.ctx.Err() != nil {
			p.mu.Unlock()
			return
		}
		if p.resize.target == target {
			result := &runtime.ResizeResult{Target: target, Applied: p.resize.actual.Clone()}
			if err != nil {
				result.Error = errorMessage(err)
			}
			p.resize.running = err != nil
			p.runner.report(runtime.Report{Pod: target.UID, Resize: result})
		}
		retry := p.resize.running
		p.mu.Unlock()
		if !retry {
			return
		}
		if err != nil {
			sleep(p.ctx, wait, wake)
			wait = min(2*wait, maxRetryDelay)
		}
	}
}

// applyResources changes the limits of the pod and its running containers, memory before CPU. A
// larger limit of the pod is set before those of its containers, a smaller one after them.
func (p *pod) applyResources(ctx context.Context, target *corev1.Pod) error {
	p.limitsMu.Lock()
	defer p.limitsMu.Unlock()
	r := p.runner
	for _, name := range []corev1.ResourceName{corev1.ResourceMemory, corev1.ResourceCPU} {
		from, to := limitsOf(name, r.podLimits(p.actualPod(target))), limitsOf(name, r.podLimits(target))
		grows, shrinks := limit(name, to) > limit(name, from), limit(name, to) < limit(name, from)
		if err := p.checkMemory(name, from, to, Cgroup(r.opts.CgroupRoot, target), "pod"); err != nil {
			return err
		}
		if !shrinks && (grows || from != to) {
			if err := p.setPodLimits(target, to); err != nil {
				return err
			}
		}
		if err := p.resizeContainers(ctx, target, name); err != nil {
			return err
		}
		if shrinks {
			if err := p.setPodLimits(target, to); err != nil {
				return err
			}
		}
	}
	if r.opts.Cgroups != nil {
		r.updateQoSCgroups()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.resize.actual.Pod = target.Spec.Resources
	return nil
}

// actualPod returns target with the resources that are applied.
func (p *pod) actualPod(target *corev1.Pod) *corev1.Pod {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.resize.actual.ApplyTo(target)
}

// limitsOf returns the limits that belong to a resource.
func limitsOf(name corev1.ResourceName, l cgroup.Limits) cgroup.Limits {
	if name == corev1.ResourceMemory {
		return cgroup.Limits{Memory: l.Memory}
	}
	return cgroup.Limits{CPUShares: l.CPUShares, CPUQuota: l.CPUQuota}
}

// limit returns the limit of a resource, math.MaxInt64 if there is none.
func limit(name corev1.ResourceName, l cgroup.Limits) int64 {
	n := l.CPUQuota
	if name == corev1.ResourceMemory {
		n = l.Memory
	}
	if n <= 0 {
		return math.MaxInt64
	}
	return n
}

// setPodLimits sets limits of the pod's cgroup, if it exists.
func (p *pod) setPodLimits(target *corev1.Pod, l cgroup.Limits) error {
	r, group := p.runner, Cgroup(p.runner.opts.CgroupRoot, target)
	if r.opts.Cgroups == nil || !r.opts.Cgroups.Exists(group) {
		return nil
	}
	return r.opts.Cgroups.SetLimits(group, l)
}

// checkMemory returns an error if a reduced memory limit is not above the current working set. The kernel would
// reject the limit or kill processes.
func (p *pod) checkMemory(name corev1.ResourceName, from, to cgroup.Limits, group, subject string) error {
	o := &p.runner.opts
	if name != corev1.ResourceMemory || limit(name, to) >= limit(name, from) || o.Cgroups == nil || !o.Cgroups.Exists(group) {
		return nil
	}
	used, err := o.Cgroups.WorkingSet(group)
	if err != nil {
		return fmt.Errorf("reading memory usage of %s: %w", subject, err)
	}
	if used >= to.Memory {
		return fmt.Errorf("attempting to set %s memory limit (%d) below current usage (%d)", subject, to.Memory, used)
	}
	return nil
}

// containerResize is the change of one resource of a running container.
type containerResize struct {
	spec     *corev1.Container
	id       string
	from, to cgroup.Limits
}

// resizeContainers changes one resource of the running containers. It reduces limits before it raises others, so that
// their sum never exceeds the pod's limit.
func (p *pod) resizeContainers(ctx context.Context, target *corev1.Pod, name corev1.ResourceName) error {
	var changes []containerResize
	actual := p.actualPod(target)
	p.mu.Lock()
	for i, list := range [][]corev1.Container{target.Spec.InitContainers, target.Spec.Containers} {
		actualContainers := [][]corev1.Container{actual.Spec.InitContainers, actual.Spec.Containers}[i]
		for j := range list {
			c, run := &list[j], p.runs[list[j].Name]
			if run == nil || run.state != stateRunning || run.stopping || runtime.ResizeRestarts(c, actualContainers[j].Resources) ||
				!runtime.ResourceChanged(actualContainers[j].Resources, c.Resources, name) {
				continue
			}
			changes = append(changes, containerResize{c, run.id, p.runner.containerLimits(actual, &actualContainers[j]), p.runner.containerLimits(target, c)})
		}
	}
	p.mu.Unlock()
	slices.SortStableFunc(changes, func(a, b containerResize) int {
		return cmp.Compare(growth(name, a.from, a.to), growth(name, b.from, b.to))
	})
	for i := range changes {
		if err := p.resizeContainer(ctx, target, name, &changes[i]); err != nil {
			return err
		}
	}
	return nil
}

// growth returns -1, 0 or 1 for a limit that shrinks, stays or grows.
func growth(name corev1.ResourceName, from, to cgroup.Limits) int {
	return cmp.Compare(limit(name, to), limit(name, from))
}

// resizeContainer changes one resource of a running container.
func (p *pod) resizeContainer(ctx context.Context, target *corev1.Pod, name corev1.ResourceName, c *containerResize) error {
	r := p.runner
	group := path.Join(Cgroup(r.opts.CgroupRoot, target), c.id)
	if err := p.checkMemory(name, c.from, c.to, group, fmt.Sprintf("container %q", c.spec.Name)); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	update := &cri.LinuxContainerResources{}
	if l := limitsOf(name, c.to); name == corev1.ResourceMemory {
		update.MemoryLimitInBytes = l.Memory
	} else {
		update.CpuShares, update.CpuQuota = l.CPUShares, l.CPUQuota
		if l.CPUQuota > 0 {
			update.CpuPeriod = cpuPeriod
		}
	}
	start := time.Now()
	if err := r.opts.Service.UpdateContainerResources(r.ctx, c.id, update); err != nil {
		return fmt.Errorf("updating %s of container %q: %w", name, c.spec.Name, err)
	}
	r.opts.Log.V(1).Info("Container resized", "pod", podKey(target), "container", c.spec.Name, "resource", name, "duration", time.Since(start))
	p.mu.Lock()
	defer p.mu.Unlock()
	p.resize.actual.Containers[c.spec.Name] = runtime.WithResource(p.resize.actual.Containers[c.spec.Name], c.spec.Resources, name)
	return nil
}

// containerLimits returns the limits of a container's cgroup.
func (r *Runner) containerLimits(pod *corev1.Pod, c *corev1.Container) cgroup.Limits {
	res := r.containerResources(pod, c)
	return cgroup.Limits{CPUShares: res.CpuShares, CPUQuota: res.CpuQuota, Memory: res.MemoryLimitInBytes}
}
