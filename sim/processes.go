package sim

import (
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/berthproject/berth/engine/podlife"
)

// Annotations of pods that script their containers, as in agent/runtime/simulated. A value that cannot be read makes the container fail at once.
const (
	RunSeconds  = "sim.berth.dev/run-seconds"  // how long containers run; absent: until stopped
	ExitCode    = "sim.berth.dev/exit-code"    // what they exit with; absent: 0
	StopSeconds = "sim.berth.dev/stop-seconds" // how long they take to stop when asked; absent: at once
	// StartSeconds is how long they take to start, as while an image is pulled; absent: no time.
	StartSeconds   = "sim.berth.dev/start-seconds"
	PreStopSeconds = "sim.berth.dev/prestop-seconds" // how long a preStop hook takes; absent: what its sleep action says, or no time
)

// Exit codes: 128 plus the signal, and 128 for what could not be started.
const (
	codeTerm  = 143
	codeKill  = 137
	codeNoRun = 128
)

// processes are the containers that run.
type processes struct {
	w       *World
	report  func(types.UID, podlife.Event)
	running map[process]int   // which start this is
	ended   map[process]int32 // the code of the last one that has
	known   map[types.UID]bool
	began   map[process]time.Time // of those that run
	starts  int
}

type process struct {
	pod       types.UID
	container string
}

// start starts a container, and says whether it runs at once; else it reports when it does.
func (r *processes) start(pod *corev1.Pod, container string) (atOnce bool) {
	r.run(pod, container)
	takes, _ := seconds(pod, StartSeconds)
	if takes <= 0 {
		return true
	}
	r.w.after(takes, func() { r.report(pod.UID, podlife.Started{Container: container}) })
	return false
}

// run has a container run from now on, as its pod's annotations say.
func (r *processes) run(pod *corev1.Pod, container string) {
	id := process{pod.UID, container}
	r.starts++
	run := r.starts
	r.running[id] = run
	r.began[id] = r.w.now
	r.known[pod.UID] = true
	runs, ends := seconds(pod, RunSeconds)
	code, err := strconv.ParseInt(or(pod.Annotations[ExitCode], "0"), 10, 32)
	if err != nil || runs < 0 {
		code, runs, ends = codeNoRun, 0, true
	}
	if ends || isInit(pod, container) {
		r.later(id, run, runs, int32(code))
	}
}

// resume takes up a container after a restart of its agent. One that has ended
// meanwhile is told of. One of a pod that ran before the simulation began runs on.
func (r *processes) resume(pod *corev1.Pod, container string) {
	if !r.known[pod.UID] {
		r.run(pod, container)
		return
	}
	id := process{pod.UID, container}
	if _, ok := r.running[id]; !ok {
		code := r.ended[id]
		r.w.after(0, func() { r.report(pod.UID, podlife.Exited{Container: container, Code: code}) })
	}
}

// preStop runs a hook.
func (r *processes) preStop(pod *corev1.Pod, container string) {
	takes, given := seconds(pod, PreStopSeconds)
	for _, cs := range [][]corev1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for i := range cs {
			if l := cs[i].Lifecycle; !given && cs[i].Name == container && l != nil && l.PreStop != nil && l.PreStop.Sleep != nil {
				takes = time.Duration(l.PreStop.Sleep.Seconds) * time.Second
			}
		}
	}
	r.w.after(max(takes, 0), func() { r.report(pod.UID, podlife.PreStopped{Container: container}) })
}

func (r *processes) stop(pod *corev1.Pod, container string) {
	id := process{pod.UID, container}
	if takes, slow := seconds(pod, StopSeconds); slow && takes > 0 {
		r.later(id, r.running[id], takes, codeTerm)
		return
	}
	r.end(pod, container, codeTerm)
}

func (r *processes) end(pod *corev1.Pod, container string, code int32) {
	id := process{pod.UID, container}
	r.later(id, r.running[id], 0, code)
}

// later ends a run after d, if it is still that one.
func (r *processes) later(id process, run int, d time.Duration, code int32) {
	r.w.after(d, func() {
		if r.running[id] != run || run == 0 {
			return
		}
		delete(r.running, id)
		delete(r.began, id)
		r.ended[id] = code
		r.report(id.pod, podlife.Exited{Container: id.container, Code: code})
	})
}

// forget drops what still runs of a pod.
func (r *processes) forget(pod *corev1.Pod) {
	drop := func(container string) {
		delete(r.running, process{pod.UID, container})
		delete(r.began, process{pod.UID, container})
		delete(r.ended, process{pod.UID, container})
	}
	for i := range pod.Spec.InitContainers {
		drop(pod.Spec.InitContainers[i].Name)
	}
	for i := range pod.Spec.Containers {
		drop(pod.Spec.Containers[i].Name)
	}
}

// seconds reads an annotation; negative when it cannot be read.
func seconds(pod *corev1.Pod, key string) (time.Duration, bool) {
	v, ok := pod.Annotations[key]
	if !ok {
		return 0, false
	}
	s, err := strconv.ParseFloat(v, 64)
	if err != nil || s < 0 || s > 1e9 {
		return -1, true
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

func or(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}
