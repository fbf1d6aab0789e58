package simulated

import (
	"strconv"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/berthproject/berth/agent/runtime"
	"github.com/berthproject/berth/engine/podlife"
)

// Annotations read by this runtime.
const (
	RunSeconds     = "sim.berth.dev/run-seconds"
	ExitCode       = "sim.berth.dev/exit-code"
	StopSeconds    = "sim.berth.dev/stop-seconds"
	PreStopSeconds = "sim.berth.dev/prestop-seconds"
)

// Exit codes of the field: 128+15 for SIGTERM, 128+9 for SIGKILL, 128 for what
// could not be started.
const (
	codeTerm  = 143
	codeKill  = 137
	codeNoRun = 128
)

// Runtime is the simulated runtime. It is safe for concurrent use.
type Runtime struct {
	report func(runtime.Report)

	mu   sync.Mutex
	pods map[types.UID]map[string]*program
}

// program is a container that runs.
type program struct {
	ends  *time.Timer   // by itself; nil: not before it is asked
	stops time.Duration // how long it takes when asked
}

// New is a runtime that reports to report, which must not block for long and
// must not call back.
func New(report func(runtime.Report)) *Runtime {
	return &Runtime{report: report, pods: map[types.UID]map[string]*program{}}
}

var _ runtime.Runtime = (*Runtime)(nil)

// Recall implements runtime.Runtime: what ran is written only in the pod's status.
func (r *Runtime) Recall(*corev1.Pod) []podlife.Status { return nil }

// Start implements runtime.Runtime.
func (r *Runtime) Start(pod *corev1.Pod, container string, _ int32) {
	r.report(runtime.Report{Pod: pod.UID, Event: podlife.Started{Container: container}})
	r.run(pod, container, 0)
}

// Resume implements runtime.Runtime: the time that has passed counts.
func (r *Runtime) Resume(pod *corev1.Pod, container string, since podlife.Status) {
	r.run(pod, container, time.Since(since.Started))
}

func (r *Runtime) run(pod *corev1.Pod, container string, passed time.Duration) {
	ends, after, code := script(pod, container)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.pods[pod.UID] == nil {
		r.pods[pod.UID] = map[string]*program{}
	}
	p := &program{}
	p.stops, _ = seconds(pod, container, StopSeconds)
	r.pods[pod.UID][container] = p
	if ends {
		uid := pod.UID
		p.ends = time.AfterFunc(max(after-passed, 0), func() { r.end(uid, container, p, code) })
	}
}

// script is what the annotations say of a container.
func script(pod *corev1.Pod, container string) (ends bool, after time.Duration, code int32) {
	ends = isInit(pod, container)
	if _, given := note(pod, container, RunSeconds); given {
		if after, ends = seconds(pod, container, RunSeconds); !ends {
			return true, 0, codeNoRun
		}
	}
	if v, ok := note(pod, container, ExitCode); ok {
		c, err := strconv.ParseUint(v, 10, 8)
		if err != nil {
			return true, 0, codeNoRun
		}
		code = int32(c)
	}
	return ends, after, code
}

// note is what an annotation says of a container; what is said of the whole pod is not
// said of its init containers.
func note(pod *corev1.Pod, container, key string) (string, bool) {
	if v, ok := pod.Annotations[container+"."+key]; ok {
		return v, true
	}
	v, ok := pod.Annotations[key]
	return v, ok && !isInit(pod, container)
}

// seconds is a note that is a time; ok says that it is given and can be read.
func seconds(pod *corev1.Pod, container, key string) (d time.Duration, ok bool) {
	v, given := note(pod, container, key)
	if !given {
		return 0, false
	}
	return parseSeconds(v)
}

func parseSeconds(text string) (d time.Duration, ok bool) {
	s, err := strconv.ParseFloat(text, 64)
	if err != nil || !(s >= 0 && s <= 1e9) {
		return 0, false
	}
	return time.Duration(s * float64(time.Second)), true
}

func isInit(pod *corev1.Pod, container string) bool {
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

// Probe implements runtime.Runtime: a simulated program is well.
func (r *Runtime) Probe(pod *corev1.Pod, container string, probe podlife.Probes, attempt int32) {
	if probe != podlife.Liveness {
		r.report(runtime.Report{Pod: pod.UID, Event: podlife.Probed{Container: container, Probe: probe, Attempt: attempt, OK: true}})
	}
}

// Unprobe implements runtime.Runtime.
func (r *Runtime) Unprobe(types.UID, string, podlife.Probes) {}

// Release implements runtime.Runtime: nothing is held.
func (r *Runtime) Release(pod *corev1.Pod) {
	r.report(runtime.Report{Pod: pod.UID, Released: true})
}

// Sweep implements runtime.Runtime: nothing runs that was not started.
func (r *Runtime) Sweep(map[types.UID]bool) {}

// PreStop implements runtime.Runtime.
func (r *Runtime) PreStop(pod *corev1.Pod, container string) {
	takes, given := seconds(pod, container, PreStopSeconds)
	for _, cs := range [][]corev1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for i := range cs {
			if l := cs[i].Lifecycle; !given && cs[i].Name == container && l != nil && l.PreStop != nil && l.PreStop.Sleep != nil {
				takes = time.Duration(l.PreStop.Sleep.Seconds) * time.Second
			}
		}
	}
	uid := pod.UID
	time.AfterFunc(takes, func() { r.report(runtime.Report{Pod: uid, Event: podlife.PreStopped{Container: container}}) })
}

// Stop implements runtime.Runtime: a simulated program obeys at once, or after the time
// that it is said to take.
func (r *Runtime) Stop(pod types.UID, container string) {
	switch p := r.program(pod, container); {
	case p == nil:
	case p.stops > 0:
		time.AfterFunc(p.stops, func() { r.end(pod, container, p, codeTerm) })
	default:
		r.end(pod, container, p, codeTerm)
	}
}

// Kill implements runtime.Runtime.
func (r *Runtime) Kill(pod types.UID, container string) {
	if p := r.program(pod, container); p != nil {
		r.end(pod, container, p, codeKill)
	}
}

// program is what runs in a container; nil if nothing does.
func (r *Runtime) program(pod types.UID, container string) *program {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.pods[pod][container]
}

// end ends a program, unless it has ended before.
func (r *Runtime) end(pod types.UID, container string, p *program, code int32) {
	r.mu.Lock()
	running := r.pods[pod][container] == p
	if running {
		delete(r.pods[pod], container)
		if p.ends != nil {
			p.ends.Stop()
		}
	}
	r.mu.Unlock()
	if running {
		r.report(runtime.Report{Pod: pod, Event: podlife.Exited{Container: container, Code: code}})
	}
}

// Forget implements runtime.Runtime.
func (r *Runtime) Forget(pod types.UID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, p := range r.pods[pod] {
		if p.ends != nil {
			p.ends.Stop()
		}
	}
	delete(r.pods, pod)
}
