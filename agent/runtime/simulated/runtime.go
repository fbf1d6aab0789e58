package simulated

import (
	"cmp"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/berthproject/berth/agent/runtime"
	"github.com/berthproject/berth/engine/podlifecycle"
)

// Options configures a Runtime.
type Options struct {
	Clock clock.WithDelayedExecution // nil: the wall clock
	// JobsRun makes the containers of Jobs and Helm hooks run until they are stopped, as all others do.
	JobsRun bool
}

// Runtime is the simulated runtime. It is safe for concurrent use. An agent that reuses the Runtime of a stopped agent
// finds that agent's containers.
type Runtime struct {
	report func(runtime.Report)
	opts   Options

	mu   sync.Mutex
	pods map[types.UID]map[string]*container // by container name
}

// New returns a runtime that calls report for each event. report must not block for long or call
// back.
func New(report func(runtime.Report)) *Runtime { return NewWithOptions(Options{}, report) }

// NewWithOptions is New with options.
func NewWithOptions(o Options, report func(runtime.Report)) *Runtime {
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	return &Runtime{report: report, opts: o, pods: map[types.UID]map[string]*container{}}
}

var _ runtime.Runtime = (*Runtime)(nil)

// ExistingContainers implements runtime.Runtime. A new runtime returns nil: then the pod's status is the only record
// of containers.
func (r *Runtime) ExistingContainers(pod *corev1.Pod) (out []podlifecycle.Status) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range r.pods[pod.UID] {
		if c.state != podlifecycle.ContainerStarting {
			out = append(out, c.status())
		}
	}
	slices.SortFunc(out, func(a, b podlifecycle.Status) int { return cmp.Compare(a.Name, b.Name) })
	return out
}

// Start implements runtime.Runtime.
func (r *Runtime) Start(pod *corev1.Pod, name string, attempt int32) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if c := r.pods[pod.UID][name]; c != nil && c.attempt == attempt {
		r.reportState(c)
		return
	}
	c := r.add(pod, name, attempt)
	start := func() {
		r.report(runtime.Report{Pod: pod.UID, Event: podlifecycle.Started{Container: name}})
		r.run(c, r.opts.Clock.Now())
	}
	if d, _ := annotationSeconds(pod, name, StartSeconds); d > 0 {
		r.after(c, d, start)
		return
	}
	start()
}

// Resume implements runtime.Runtime. The run time counts from since.StartedAt.
func (r *Runtime) Resume(pod *corev1.Pod, name string, since podlifecycle.Status) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.pods[pod.UID][name] == nil {
		r.run(r.add(pod, name, since.Restarts), since.StartedAt)
	}
}

// Update implements runtime.Runtime.
func (r *Runtime) Update(*corev1.Pod) {}

// Resize implements runtime.Runtime. It succeeds immediately.
func (r *Runtime) Resize(pod *corev1.Pod, _ runtime.Resources) {
	r.report(runtime.Report{Pod: pod.UID, Resize: &runtime.ResizeResult{Target: pod, Applied: runtime.SpecResources(pod)}})
}

// StartProbe implements runtime.Runtime. Simulated containers are always healthy and ready.
func (r *Runtime) StartProbe(pod *corev1.Pod, container string, probe podlifecycle.Probes, attempt int32) {
	if probe != podlifecycle.Liveness {
		r.report(runtime.Report{Pod: pod.UID, Event: podlifecycle.ProbeResult{Container: container, Probe: probe, Attempt: attempt, OK: true}})
	}
}

// StopProbe implements runtime.Runtime.
func (r *Runtime) StopProbe(types.UID, string, podlifecycle.Probes) {}

// Release implements runtime.Runtime. There are no resources to release.
func (r *Runtime) Release(pod *corev1.Pod) {
	r.report(runtime.Report{Pod: pod.UID, Released: true})
}

// RemoveOrphans implements runtime.Runtime.
func (r *Runtime) RemoveOrphans(existing map[types.UID]bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for pod := range r.pods {
		if !existing[pod] {
			r.forget(pod)
		}
	}
}

// PreStop implements runtime.Runtime.
func (r *Runtime) PreStop(pod *corev1.Pod, container string) {
	uid := pod.UID
	r.opts.Clock.AfterFunc(preStopDuration(pod, container), func() {
		r.report(runtime.Report{Pod: uid, Event: podlifecycle.PreStopDone{Container: container}})
	})
}

// Stop implements runtime.Runtime. The container exits immediately or after its stop-seconds.
func (r *Runtime) Stop(pod types.UID, name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch c := r.pods[pod][name]; {
	case c == nil || c.state == podlifecycle.ContainerTerminated:
	case c.state == podlifecycle.ContainerStarting:
		r.abort(c)
	case c.plan.stopping > 0:
		r.after(c, c.plan.stopping, func() { r.terminate(c, exitCodeSIGTERM) })
	default:
		r.terminate(c, exitCodeSIGTERM)
	}
}

// Kill implements runtime.Runtime.
func (r *Runtime) Kill(pod types.UID, name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch c := r.pods[pod][name]; {
	case c == nil || c.state == podlifecycle.ContainerTerminated:
	case c.state == podlifecycle.ContainerStarting:
		r.abort(c)
	default:
		r.terminate(c, exitCodeSIGKILL)
	}
}

// Forget implements runtime.Runtime.
func (r *Runtime) Forget(pod types.UID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.forget(pod)
}
