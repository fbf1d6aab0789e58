package simulated

import (
	"slices"
	"strconv"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/berthproject/berth/agent/runtime"
	"github.com/berthproject/berth/engine/podlifecycle"
)

// Annotations that configure simulated containers.
const (
	RunSeconds     = "sim.berth.dev/run-seconds"
	ExitCode       = "sim.berth.dev/exit-code"
	StopSeconds    = "sim.berth.dev/stop-seconds"
	PreStopSeconds = "sim.berth.dev/prestop-seconds"
)

// Exit codes in container statuses: 128+15 for SIGTERM, 128+9 for SIGKILL, 128 for start errors.
const (
	exitCodeSIGTERM    = 143
	exitCodeSIGKILL    = 137
	exitCodeStartError = 128
)

// Runtime is the simulated runtime. It is safe for concurrent use.
type Runtime struct {
	report func(runtime.Report)

	mu   sync.Mutex
	pods map[types.UID]map[string]*process // by container name
}

// process is a running container.
type process struct {
	exitTimer    *time.Timer   // nil if the container runs until it is stopped
	stopDuration time.Duration // time from Stop to exit
}

// New returns a runtime that calls report for each event. report must not block for long or call
// back.
func New(report func(runtime.Report)) *Runtime {
	return &Runtime{report: report, pods: map[types.UID]map[string]*process{}}
}

var _ runtime.Runtime = (*Runtime)(nil)

// ExistingContainers implements runtime.Runtime. The pod's status is the only record of
// containers.
func (r *Runtime) ExistingContainers(*corev1.Pod) []podlifecycle.Status { return nil }

// Start implements runtime.Runtime.
func (r *Runtime) Start(pod *corev1.Pod, container string, _ int32) {
	r.report(runtime.Report{Pod: pod.UID, Event: podlifecycle.Started{Container: container}})
	r.run(pod, container, 0)
}

// Resume implements runtime.Runtime. The time since the container's start counts.
func (r *Runtime) Resume(pod *corev1.Pod, container string, since podlifecycle.Status) {
	r.run(pod, container, time.Since(since.StartedAt))
}

func (r *Runtime) run(pod *corev1.Pod, container string, elapsed time.Duration) {
	exits, after, code := exitPlan(pod, container)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.pods[pod.UID] == nil {
		r.pods[pod.UID] = map[string]*process{}
	}
	p := &process{}
	p.stopDuration, _ = annotationSeconds(pod, container, StopSeconds)
	r.pods[pod.UID][container] = p
	if exits {
		uid := pod.UID
		p.exitTimer = time.AfterFunc(max(after-elapsed, 0), func() { r.exit(uid, container, p, code) })
	}
}

// jobRunTime is how long the containers of Jobs run by default.
const jobRunTime = time.Second

// exitPlan returns when and how a container exits, according to the annotations.
func exitPlan(pod *corev1.Pod, container string) (exits bool, after time.Duration, code int32) {
	switch {
	case isInitContainer(pod, container):
		exits = true
	case runsToCompletion(pod):
		exits, after = isContainer(pod, container), jobRunTime
	}
	if _, ok := annotation(pod, container, RunSeconds); ok {
		if after, exits = annotationSeconds(pod, container, RunSeconds); !exits {
			return true, 0, exitCodeStartError
		}
	}
	if v, ok := annotation(pod, container, ExitCode); ok {
		c, err := strconv.ParseUint(v, 10, 8)
		if err != nil {
			return true, 0, exitCodeStartError
		}
		code = int32(c)
	}
	return exits, after, code
}

// annotation returns the value for a container. Annotations for the whole pod do not apply to
// init containers.
func annotation(pod *corev1.Pod, container, key string) (string, bool) {
	if v, ok := pod.Annotations[container+"."+key]; ok {
		return v, true
	}
	v, ok := pod.Annotations[key]
	return v, ok && !isInitContainer(pod, container)
}

// annotationSeconds returns an annotation as a duration. ok is false if it is absent or invalid.
func annotationSeconds(pod *corev1.Pod, container, key string) (d time.Duration, ok bool) {
	v, ok := annotation(pod, container, key)
	if !ok {
		return 0, false
	}
	return parseSeconds(v)
}

func parseSeconds(text string) (d time.Duration, ok bool) {
	s, err := strconv.ParseFloat(text, 64)
	if err != nil || !(s >= 0 && s <= 1e9) { // also true for NaN
		return 0, false
	}
	return time.Duration(s * float64(time.Second)), true
}

// runsToCompletion reports whether the pod belongs to a Job, or is a hook or test of a Helm chart.
// A sidecar of such a pod runs until it is stopped.
func runsToCompletion(pod *corev1.Pod) bool {
	if _, hook := pod.Annotations[helmHook]; hook && pod.Spec.RestartPolicy != corev1.RestartPolicyAlways {
		return true
	}
	owner := metav1.GetControllerOfNoCopy(pod)
	return owner != nil && owner.Kind == "Job"
}

// helmHook is the annotation of the objects that Helm creates as hooks.
const helmHook = "helm.sh/hook"

// isContainer reports whether the container is neither an init container nor a sidecar.
func isContainer(pod *corev1.Pod, container string) bool {
	return slices.ContainsFunc(pod.Spec.Containers, func(c corev1.Container) bool { return c.Name == container })
}

func isInitContainer(pod *corev1.Pod, container string) bool {
	for i := range pod.Spec.InitContainers {
		c := &pod.Spec.InitContainers[i]
		if c.Name == container {
			return c.RestartPolicy == nil || *c.RestartPolicy != corev1.ContainerRestartPolicyAlways
		}
	}
	return false
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

// RemoveOrphans implements runtime.Runtime. There are no orphans.
func (r *Runtime) RemoveOrphans(map[types.UID]bool) {}

// PreStop implements runtime.Runtime.
func (r *Runtime) PreStop(pod *corev1.Pod, container string) {
	duration, ok := annotationSeconds(pod, container, PreStopSeconds)
	for _, cs := range [][]corev1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for i := range cs {
			if l := cs[i].Lifecycle; !ok && cs[i].Name == container && l != nil && l.PreStop != nil && l.PreStop.Sleep != nil {
				duration = time.Duration(l.PreStop.Sleep.Seconds) * time.Second
			}
		}
	}
	uid := pod.UID
	time.AfterFunc(duration, func() { r.report(runtime.Report{Pod: uid, Event: podlifecycle.PreStopDone{Container: container}}) })
}

// Stop implements runtime.Runtime. The container exits immediately or after its stop-seconds.
func (r *Runtime) Stop(pod types.UID, container string) {
	switch p := r.findProcess(pod, container); {
	case p == nil:
	case p.stopDuration > 0:
		time.AfterFunc(p.stopDuration, func() { r.exit(pod, container, p, exitCodeSIGTERM) })
	default:
		r.exit(pod, container, p, exitCodeSIGTERM)
	}
}

// Kill implements runtime.Runtime.
func (r *Runtime) Kill(pod types.UID, container string) {
	if p := r.findProcess(pod, container); p != nil {
		r.exit(pod, container, p, exitCodeSIGKILL)
	}
}

func (r *Runtime) findProcess(pod types.UID, container string) *process {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.pods[pod][container]
}

// exit ends a process unless it has exited.
func (r *Runtime) exit(pod types.UID, container string, p *process, code int32) {
	r.mu.Lock()
	running := r.pods[pod][container] == p
	if running {
		delete(r.pods[pod], container)
		if p.exitTimer != nil {
			p.exitTimer.Stop()
		}
	}
	r.mu.Unlock()
	if running {
		r.report(runtime.Report{Pod: pod, Event: podlifecycle.Exited{Container: container, Code: code}})
	}
}

// Forget implements runtime.Runtime.
func (r *Runtime) Forget(pod types.UID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, p := range r.pods[pod] {
		if p.exitTimer != nil {
			p.exitTimer.Stop()
		}
	}
	delete(r.pods, pod)
}
