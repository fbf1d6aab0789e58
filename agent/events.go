package agent

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/berthproject/berth/engine/podlifecycle"
)

// discardRecorder is an EventRecorder that drops all events.
type discardRecorder struct{}

func (discardRecorder) Event(runtime.Object, string, string, string)          {}
func (discardRecorder) Eventf(runtime.Object, string, string, string, ...any) {}
func (discardRecorder) AnnotatedEventf(runtime.Object, map[string]string, string, string, string, ...any) {
}

// recordEvents records the API event, if any, for a reported lifecycle event.
func (a *Agent) recordEvents(p *pod, event podlifecycle.Event) {
	switch e := event.(type) {
	case podlifecycle.Exited:
		if s := p.container(e.Container); s != nil && s.BackOff {
			a.opts.Events.Eventf(containerReference(p.object, e.Container), corev1.EventTypeWarning, "BackOff", "Back-off restarting failed container %s in pod %s", e.Container, formatPod(p.object))
		}
	case podlifecycle.ProbeResult:
		if !e.OK && e.Probe != podlifecycle.Readiness && !p.lifecycle.Terminating() {
			kind := "liveness"
			if e.Probe == podlifecycle.Startup {
				kind = "startup"
			}
			a.opts.Events.Eventf(containerReference(p.object, e.Container), corev1.EventTypeNormal, "Killing", "Container %s failed %s probe, will be restarted", e.Container, kind)
		}
	case podlifecycle.RestartContainer:
		text := "Container %s definition changed, will be restarted"
		if e.Resize {
			text = "Container %s resize requires restart"
		}
		a.opts.Events.Eventf(containerReference(p.object, e.Container), corev1.EventTypeNormal, "Killing", text, e.Container)
	}
}

// formatPod returns the name that the kubelet uses in messages.
func formatPod(p *corev1.Pod) string { return p.Name + "_" + p.Namespace + "(" + string(p.UID) + ")" }

func containerReference(p *corev1.Pod, container string) *corev1.ObjectReference {
	field := "spec.containers{" + container + "}"
	if slices.ContainsFunc(p.Spec.InitContainers, func(c corev1.Container) bool { return c.Name == container }) {
		field = "spec.initContainers{" + container + "}"
	}
	if slices.ContainsFunc(p.Spec.EphemeralContainers, func(c corev1.EphemeralContainer) bool { return c.Name == container }) {
		field = "spec.ephemeralContainers{" + container + "}"
	}
	return &corev1.ObjectReference{APIVersion: "v1", Kind: "Pod", Namespace: p.Namespace, Name: p.Name, UID: p.UID, ResourceVersion: p.ResourceVersion, FieldPath: field}
}
