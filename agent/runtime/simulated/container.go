package simulated

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/berthproject/berth/agent/runtime"
	"github.com/berthproject/berth/engine/podlifecycle"
)

// Exit codes in container statuses: 128+15 for SIGTERM, 128+9 for SIGKILL, 128 for start errors.
const (
	exitCodeSIGTERM    = 143
	exitCodeSIGKILL    = 137
	exitCodeStartError = 128
)

// container is a container that is starting, running or terminated.
type container struct {
	pod                   types.UID
	name                  string
	attempt               int32
	state                 podlifecycle.State
	startedAt, finishedAt time.Time
	plan                  exitPlan
	timers                []clock.Timer // pending changes of the state
}

// add adds a container. r.mu must be held.
func (r *Runtime) add(pod *corev1.Pod, name string, attempt int32) *container {
	c := &container{pod: pod.UID, name: name, attempt: attempt, state: podlifecycle.ContainerStarting, plan: newExitPlan(pod, name, !r.opts.JobsRun)}
	if r.pods[pod.UID] == nil {
		r.pods[pod.UID] = map[string]*container{}
	}
	r.pods[pod.UID][name] = c
	return c
}

// after calls f with r.mu held after d, unless the container has terminated or was replaced.
func (r *Runtime) after(c *container, d time.Duration, f func()) {
	c.timers = append(c.timers, r.opts.Clock.AfterFunc(d, func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.pods[c.pod][c.name] == c && c.state != podlifecycle.ContainerTerminated {
			f()
		}
	}))
}

// run starts the process of a container, which has been running since startedAt. r.mu must be held.
func (r *Runtime) run(c *container, startedAt time.Time) {
	c.state, c.startedAt = podlifecycle.ContainerRunning, startedAt
	if c.plan.exits {
		r.after(c, max(c.plan.after-r.opts.Clock.Since(startedAt), 0), func() { r.terminate(c, c.plan.code) })
	}
}

// terminate ends the process of a container. r.mu must be held.
func (r *Runtime) terminate(c *container, code int32) {
	c.stopTimers()
	c.state, c.plan.code, c.finishedAt = podlifecycle.ContainerTerminated, code, r.opts.Clock.Now()
	r.report(runtime.Report{Pod: c.pod, Event: podlifecycle.Exited{Container: c.name, Code: code}})
}

// abort ends the start of a container, which never runs. r.mu must be held.
func (r *Runtime) abort(c *container) {
	c.stopTimers()
	delete(r.pods[c.pod], c.name)
	r.report(runtime.Report{Pod: c.pod, Event: podlifecycle.Exited{Container: c.name, Code: exitCodeSIGKILL, Reason: "ContainerStatusUnknown",
		Message: "The container could not be located when the pod was terminated"}})
}

// status returns the status of a container that has started.
func (c *container) status() podlifecycle.Status {
	s := podlifecycle.Status{Name: c.name, State: c.state, StartedAt: c.startedAt, Restarts: c.attempt}
	if c.state == podlifecycle.ContainerTerminated {
		s.Exit = podlifecycle.Exit{Code: c.plan.code, StartedAt: c.startedAt, FinishedAt: c.finishedAt}
	}
	return s
}

func (c *container) stopTimers() {
	for _, t := range c.timers {
		t.Stop()
	}
	c.timers = nil
}

// reportState reports the state of a container that an earlier agent started. r.mu must be held.
func (r *Runtime) reportState(c *container) {
	if c.state == podlifecycle.ContainerStarting {
		return // the report follows
	}
	r.report(runtime.Report{Pod: c.pod, Event: podlifecycle.Started{Container: c.name, At: c.startedAt}})
	if c.state == podlifecycle.ContainerTerminated {
		r.report(runtime.Report{Pod: c.pod, Event: podlifecycle.Exited{Container: c.name, Code: c.plan.code, StartedAt: c.startedAt, FinishedAt: c.finishedAt}})
	}
}

// forget removes the containers of a pod. r.mu must be held.
func (r *Runtime) forget(pod types.UID) {
	for _, c := range r.pods[pod] {
		c.stopTimers()
	}
	delete(r.pods, pod)
}
