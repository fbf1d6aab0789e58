package simulated

import (
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Annotations that configure simulated containers.
const (
	RunSeconds     = "sim.berth.dev/run-seconds"
	ExitCode       = "sim.berth.dev/exit-code"
	StartSeconds   = "sim.berth.dev/start-seconds"
	StopSeconds    = "sim.berth.dev/stop-seconds"
	PreStopSeconds = "sim.berth.dev/prestop-seconds"
)

// jobRunTime is how long the containers of Jobs run by default.
const jobRunTime = time.Second

// exitPlan is how a container exits, according to the annotations.
type exitPlan struct {
	exits    bool          // the container exits without being stopped
	after    time.Duration // from the start to the exit
	code     int32         // exit code
	stopping time.Duration // from Stop to the exit
}

// newExitPlan returns the plan of a container. If jobsComplete is set, containers of Jobs exit by default.
func newExitPlan(pod *corev1.Pod, container string, jobsComplete bool) (p exitPlan) {
	p.stopping, _ = annotationSeconds(pod, container, StopSeconds)
	switch {
	case isInitContainer(pod, container):
		p.exits = true
	case jobsComplete && runsToCompletion(pod):
		p.exits, p.after = isContainer(pod, container), jobRunTime
	}
	failed := exitPlan{exits: true, code: exitCodeStartError, stopping: p.stopping}
	if _, ok := annotation(pod, container, RunSeconds); ok {
		if p.after, p.exits = annotationSeconds(pod, container, RunSeconds); !p.exits {
			return failed
		}
	}
	if v, ok := annotation(pod, container, ExitCode); ok {
		c, err := strconv.ParseUint(v, 10, 8)
		if err != nil {
			return failed
		}
		p.code = int32(c)
	}
	return p
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

// preStopDuration returns how long the preStop hook of a container takes.
func preStopDuration(pod *corev1.Pod, container string) time.Duration {
	duration, ok := annotationSeconds(pod, container, PreStopSeconds)
	for _, cs := range [][]corev1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for i := range cs {
			if l := cs[i].Lifecycle; !ok && cs[i].Name == container && l != nil && l.PreStop != nil && l.PreStop.Sleep != nil {
				duration = time.Duration(l.PreStop.Sleep.Seconds) * time.Second
			}
		}
	}
	return duration
}
