package pods

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/berthproject/berth/agent/probe"
	"github.com/berthproject/berth/engine/podlifecycle"
)

// postStart runs the postStart hook of a started container. If it fails or ctx ends, the caller
// must stop the container.
func (p *pod) postStart(ctx context.Context, c *run, spec *corev1.Container) error {
	if spec.Lifecycle == nil || spec.Lifecycle.PostStart == nil {
		return nil
	}
	err := p.runHook(ctx, c, spec, spec.Lifecycle.PostStart)
	if err != nil && ctx.Err() == nil {
		p.runner.recordEvent(p.latest(), c.name, corev1.EventTypeWarning, "FailedPostStartHook", "PostStartHook failed: "+errorMessage(err))
	}
	return err
}

// PreStop implements runtime.Runtime.
func (r *Runner) PreStop(object *corev1.Pod, container string) {
	p := r.lookup(object.UID)
	if p == nil {
		return
	}
	p.mu.Lock()
	c := p.runs[container]
	p.mu.Unlock()
	r.startWorker(func() {
		spec := findContainer(object, container)
		if c != nil && spec != nil && spec.Lifecycle != nil && spec.Lifecycle.PreStop != nil {
			ctx, cancel := context.WithTimeout(p.ctx, gracePeriod(object))
			defer cancel()
			select {
			case <-c.startDone: // closed late if the container has to be adopted first
				if err := p.runHook(ctx, c, spec, spec.Lifecycle.PreStop); err != nil && p.ctx.Err() == nil {
					r.recordEvent(object, container, corev1.EventTypeWarning, "FailedPreStopHook", "PreStopHook failed: "+errorMessage(err))
				}
			case <-ctx.Done():
			}
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		p.report(podlifecycle.PreStopDone{Container: container}, nil)
	})
}

// gracePeriod returns the grace period of a deletion of the pod, at least 1 s.
func gracePeriod(pod *corev1.Pod) time.Duration {
	for _, s := range []*int64{pod.DeletionGracePeriodSeconds, pod.Spec.TerminationGracePeriodSeconds} {
		if s != nil {
			return time.Duration(min(max(*s, 1), maxGraceSeconds)) * time.Second
		}
	}
	return 30 * time.Second
}

// runHook runs a postStart or preStop hook and returns its failure.
func (p *pod) runHook(ctx context.Context, c *run, spec *corev1.Container, h *corev1.LifecycleHandler) error {
	switch {
	case h.Exec != nil:
		out, err := p.runner.opts.Service.ExecSync(ctx, c.id, h.Exec.Command, 0)
		if err != nil {
			return err
		}
		if out.GetExitCode() != 0 {
			output := slices.Concat(out.GetStdout(), out.GetStderr())
			return fmt.Errorf("command %q exited with %d: %s", h.Exec.Command, out.GetExitCode(), output[:min(len(output), maxTerminationMessage)])
		}
	case h.HTTPGet != nil:
		if ok, reason := probe.HTTPGet(ctx, h.HTTPGet, spec, p.withAddresses().Status.PodIP); !ok {
			return errors.New(reason)
		}
	case h.Sleep != nil:
		sleep(ctx, time.Duration(h.Sleep.Seconds)*time.Second, nil)
		return ctx.Err()
	}
	return nil
}
