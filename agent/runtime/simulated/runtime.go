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
	RunSeconds = "sim.berth.dev/run-seconds"
	ExitCode   = "sim.berth.dev/exit-code"
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
	pods map[types.UID]map[string]*time.Timer // nil timer: runs until stopped
}

// New is a runtime that reports to report, which must not block for long and
// must not call back.
func New(report func(runtime.Report)) *Runtime {
	return &Runtime{report: report, pods: map[types.UID]map[string]*time.Timer{}}
}

var _ runtime.Runtime = (*Runtime)(nil)

// Start implements runtime.Runtime.
func (r *Runtime) Start(pod *corev1.Pod, container string) {
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
		r.pods[pod.UID] = map[string]*time.Timer{}
	}
	var timer *time.Timer
	if ends {
		uid := pod.UID
		timer = time.AfterFunc(max(after-passed, 0), func() { r.end(uid, container, code) })
	}
	r.pods[pod.UID][container] = timer
}

// script is what the annotations say of a container.
func script(pod *corev1.Pod, container string) (ends bool, after time.Duration, code int32) {
	note := func(key string) (string, bool) {
		if v, ok := pod.Annotations[container+"."+key]; ok {
			return v, true
		}
		v, ok := pod.Annotations[key]
		return v, ok && !isInit(pod, container)
	}
	ends = isInit(pod, container)
	if v, ok := note(RunSeconds); ok {
		s, err := strconv.ParseFloat(v, 64)
		if err != nil || s < 0 || s > 1e9 {
			return true, 0, codeNoRun
		}
		ends, after = true, time.Duration(s*float64(time.Second))
	}
	if v, ok := note(ExitCode); ok {
		c, err := strconv.ParseUint(v, 10, 8)
		if err != nil {
			return true, 0, codeNoRun
		}
		code = int32(c)
	}
	return ends, after, code
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

// Stop implements runtime.Runtime: a simulated program obeys at once.
func (r *Runtime) Stop(pod types.UID, container string) { r.end(pod, container, codeTerm) }

// Kill implements runtime.Runtime.
func (r *Runtime) Kill(pod types.UID, container string) { r.end(pod, container, codeKill) }

func (r *Runtime) end(pod types.UID, container string, code int32) {
	r.mu.Lock()
	timer, running := r.pods[pod][container]
	delete(r.pods[pod], container)
	r.mu.Unlock()
	if !running {
		return
	}
	if timer != nil {
		timer.Stop()
	}
	r.report(runtime.Report{Pod: pod, Event: podlife.Exited{Container: container, Code: code}})
}

// Forget implements runtime.Runtime.
func (r *Runtime) Forget(pod types.UID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, t := range r.pods[pod] {
		if t != nil {
			t.Stop()
		}
	}
	delete(r.pods, pod)
}
