package agent

import (
	"cmp"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/berthproject/berth/engine/podlifecycle"
	"github.com/berthproject/berth/sim"
)

// Annotations that script the containers of a pod, as in agent/runtime/simulated. An invalid run time or exit code
// makes the container fail at once; other invalid values count as 0.
const (
	RunSeconds  = "sim.berth.dev/run-seconds"  // run time; without it, until stopped
	ExitCode    = "sim.berth.dev/exit-code"    // exit code; default 0
	StopSeconds = "sim.berth.dev/stop-seconds" // time to stop; default 0
	// StartSeconds is the time to start, such as for an image pull; default 0.
	StartSeconds   = "sim.berth.dev/start-seconds"
	PreStopSeconds = "sim.berth.dev/prestop-seconds" // duration of a preStop hook; default: its sleep action, or 0
)

// Exit codes: 128 plus the signal, and 128 for containers that could not be started.
const (
	codeTerm        = 143
	codeKill        = 137
	codeStartFailed = 128
)

// containers simulates running containers.
type containers struct {
	w           *sim.World
	report      func(types.UID, podlifecycle.Event)
	running     map[containerID]int   // number of the current run
	exitCodes   map[containerID]int32 // last exit code
	startedPods map[types.UID]bool
	startedAt   map[containerID]time.Time // of running containers
	starts      int                       // number of starts of all containers
}

type containerID struct {
	pod       types.UID
	container string
}

// newContainers returns an empty containers. report receives their events.
func newContainers(w *sim.World, report func(types.UID, podlifecycle.Event)) containers {
	return containers{w: w, report: report, running: map[containerID]int{}, exitCodes: map[containerID]int32{}, startedPods: map[types.UID]bool{}, startedAt: map[containerID]time.Time{}}
}

// start starts a container. It reports whether the container runs at once; otherwise the event
// Started follows later.
func (r *containers) start(pod *corev1.Pod, container string) (immediate bool) {
	r.run(pod, container)
	d, _ := annotationSeconds(pod, StartSeconds)
	if d <= 0 {
		return true
	}
	r.w.After(d, func() { r.report(pod.UID, podlifecycle.Started{Container: container}) })
	return false
}

// run starts a container as the pod's annotations specify.
func (r *containers) run(pod *corev1.Pod, container string) {
	id := containerID{pod.UID, container}
	r.starts++
	run := r.starts
	r.running[id] = run
	r.startedAt[id] = r.w.Now()
	r.startedPods[pod.UID] = true
	runTime, exits := annotationSeconds(pod, RunSeconds)
	code, err := strconv.ParseInt(cmp.Or(pod.Annotations[ExitCode], "0"), 10, 32)
	if err != nil || runTime < 0 {
		code, runTime, exits = codeStartFailed, 0, true
	}
	if exits || isInit(pod, container) {
		r.exitAfter(id, run, runTime, int32(code))
	}
}

// resume adopts a container after a restart of its agent. It reports an exit that happened meanwhile.
// It starts a container that was running before the simulation began, as if the container were new.
func (r *containers) resume(pod *corev1.Pod, container string) {
	if !r.startedPods[pod.UID] {
		r.run(pod, container)
		return
	}
	id := containerID{pod.UID, container}
	if _, ok := r.running[id]; !ok {
		code := r.exitCodes[id]
		r.w.After(0, func() { r.report(pod.UID, podlifecycle.Exited{Container: container, Code: code}) })
	}
}

// preStop runs a preStop hook.
func (r *containers) preStop(pod *corev1.Pod, container string) {
	d, ok := annotationSeconds(pod, PreStopSeconds)
	for _, cs := range [][]corev1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for i := range cs {
			if l := cs[i].Lifecycle; !ok && cs[i].Name == container && l != nil && l.PreStop != nil && l.PreStop.Sleep != nil {
				d = time.Duration(l.PreStop.Sleep.Seconds) * time.Second
			}
		}
	}
	r.w.After(max(d, 0), func() { r.report(pod.UID, podlifecycle.PreStopDone{Container: container}) })
}

// stop ends a container with codeTerm after its StopSeconds.
func (r *containers) stop(pod *corev1.Pod, container string) {
	id := containerID{pod.UID, container}
	if d, ok := annotationSeconds(pod, StopSeconds); ok && d > 0 {
		r.exitAfter(id, r.running[id], d, codeTerm)
		return
	}
	r.end(pod, container, codeTerm)
}

// end ends a container at once.
func (r *containers) end(pod *corev1.Pod, container string, code int32) {
	id := containerID{pod.UID, container}
	r.exitAfter(id, r.running[id], 0, code)
}

// exitAfter ends a run after d if it is still the current one.
func (r *containers) exitAfter(id containerID, run int, d time.Duration, code int32) {
	r.w.After(d, func() {
		if r.running[id] != run || run == 0 {
			return
		}
		delete(r.running, id)
		delete(r.startedAt, id)
		r.exitCodes[id] = code
		r.report(id.pod, podlifecycle.Exited{Container: id.container, Code: code})
	})
}

// removePod removes the containers of a pod.
func (r *containers) removePod(pod *corev1.Pod) {
	remove := func(container string) {
		delete(r.running, containerID{pod.UID, container})
		delete(r.startedAt, containerID{pod.UID, container})
		delete(r.exitCodes, containerID{pod.UID, container})
	}
	for i := range pod.Spec.InitContainers {
		remove(pod.Spec.InitContainers[i].Name)
	}
	for i := range pod.Spec.Containers {
		remove(pod.Spec.Containers[i].Name)
	}
}

// annotationSeconds reads a duration from an annotation; it is negative if invalid. exists is false if the pod
// does not have the annotation.
func annotationSeconds(pod *corev1.Pod, key string) (d time.Duration, exists bool) {
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

// isInit reports whether a container is an init container other than a sidecar.
func isInit(pod *corev1.Pod, container string) bool {
	for i := range pod.Spec.InitContainers {
		c := &pod.Spec.InitContainers[i]
		if c.Name == container {
			return c.RestartPolicy == nil || *c.RestartPolicy != corev1.ContainerRestartPolicyAlways
		}
	}
	return false
}
