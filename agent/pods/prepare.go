package pods

import (
	"context"
	"os"
	"path/filepath"

	corev1 "k8s.io/api/core/v1"
	resourcehelper "k8s.io/component-helpers/resource"

	"github.com/berthproject/berth/agent/cgroup"
	"github.com/berthproject/berth/internal/conversion"
)

// prepare creates the volumes, cgroup and directories of the pod. Only the worker calls it. An
// ephemeral container may use volumes that no other container does: prepare sets them up before the
// container starts.
func (p *pod) prepare(ctx context.Context, container string) error {
	r, pod := p.runner, p.latest()
	p.mu.Lock()
	done := p.prepared
	p.mu.Unlock()
	if done {
		if findEphemeral(pod, container) == nil {
			return nil
		}
		return p.prepareVolumes(ctx, pod)
	}
	for _, dir := range []string{filepath.Join(r.podDir(pod.UID), messagesDir), LogDir(r.opts.Logs, pod)} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
	}
	if err := p.prepareVolumes(ctx, pod); err != nil {
		return err
	}
	p.limitsMu.Lock() // a resize in the meantime waits, or has set the newest object
	defer p.limitsMu.Unlock()
	if pod = p.latest(); r.opts.Cgroups != nil {
		r.updateQoSCgroups()
		group, limits := Cgroup(r.opts.CgroupRoot, pod), r.podLimits(pod)
		if used, err := r.opts.Cgroups.WorkingSet(group); err == nil && limits.Memory > 0 && used >= limits.Memory {
			limits.Memory = 0 // the pod of an earlier agent, which could not lower the limit: Resize retries
		}
		if err := r.opts.Cgroups.Create(group, limits); err != nil {
			r.recordEvent(pod, "", corev1.EventTypeWarning, "FailedCreatePodContainer", "unable to ensure pod container exists: "+err.Error())
			return err
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.prepared = true
	return nil
}

// prepareVolumes sets up the volumes, and records an event if that fails.
func (p *pod) prepareVolumes(ctx context.Context, pod *corev1.Pod) error {
	if err := p.runner.opts.Volumes.Prepare(ctx, pod); err != nil {
		p.runner.recordEvent(p.latest(), "", corev1.EventTypeWarning, "FailedMount", err.Error())
		return err
	}
	return nil
}

// updateQoSCgroups gives the Burstable cgroup the CPU weight of the sum of its pods' requests,
// and the BestEffort cgroup the minimum.
func (r *Runner) updateQoSCgroups() {
	var milli int64
	r.mu.Lock()
	all := make([]*pod, 0, len(r.pods))
	for _, p := range r.pods {
		all = append(all, p)
	}
	r.mu.Unlock()
	for _, p := range all {
		p.mu.Lock()
		pod, terminating := p.object, p.teardown.requested
		p.mu.Unlock()
		if !terminating && conversion.QoS(pod) == corev1.PodQOSBurstable {
			requests := resourcehelper.PodRequests(pod, resourcehelper.PodResourcesOptions{})
			milli += requests.Cpu().MilliValue()
		}
	}
	for level, weight := range map[corev1.PodQOSClass]int64{corev1.PodQOSBurstable: cgroup.CPUShares(milli), corev1.PodQOSBestEffort: cgroup.MinCPUShares} {
		path := qosCgroup(r.opts.CgroupRoot, level)
		if err := r.opts.Cgroups.Create(path, cgroup.Limits{CPUShares: weight}); err != nil {
			r.opts.Log.Error(err, "Failed to create QoS cgroup", "cgroup", path)
		}
	}
}
