package agent

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/berthproject/berth/engine/podlife"
)

// silence is a recorder of events that tells nobody.
type silence struct{}

func (silence) Event(runtime.Object, string, string, string)                                      {}
func (silence) Eventf(runtime.Object, string, string, string, ...any)                             {}
func (silence) AnnotatedEventf(runtime.Object, map[string]string, string, string, string, ...any) {}

// tell tells of what a pod's life has come to with an event that was reported.
func (a *Agent) tell(p *pod, event podlife.Event) {
	switch e := event.(type) {
	case podlife.Exited:
		if s := p.container(e.Container); s != nil && s.BackOff {
			a.opts.Events.Eventf(partOf(p.object, e.Container), corev1.EventTypeWarning, "BackOff", "Back-off restarting failed container %s in pod %s", e.Container, fullName(p.object))
		}
	case podlife.Probed:
		if !e.OK && e.Probe != podlife.Readiness && !p.life.Ending() {
			kind := "liveness"
			if e.Probe == podlife.Startup {
				kind = "startup"
			}
			a.opts.Events.Eventf(partOf(p.object, e.Container), corev1.EventTypeNormal, "Killing", "Container %s failed %s probe, will be restarted", e.Container, kind)
		}
	case podlife.Replace:
		a.opts.Events.Eventf(partOf(p.object, e.Container), corev1.EventTypeNormal, "Killing", "Container %s definition changed, will be restarted", e.Container)
	}
}

// fullName is how the kubelet calls a pod.
func fullName(p *corev1.Pod) string { return p.Name + "_" + p.Namespace + "(" + string(p.UID) + ")" }

// partOf is a container of a pod as events are about it.
func partOf(p *corev1.Pod, container string) *corev1.ObjectReference {
	field := "spec.containers{" + container + "}"
	if slices.ContainsFunc(p.Spec.InitContainers, func(c corev1.Container) bool { return c.Name == container }) {
		field = "spec.initContainers{" + container + "}"
	}
	return &corev1.ObjectReference{APIVersion: "v1", Kind: "Pod", Namespace: p.Namespace, Name: p.Name, UID: p.UID, ResourceVersion: p.ResourceVersion, FieldPath: field}
}
