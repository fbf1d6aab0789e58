//go:build linux

package nodeagent

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/record"

	"github.com/berthproject/berth/agent"
)

// eventComponent is the source component of events. It is the kubelet's, because tools search for
// it.
const eventComponent = "kubelet"

// startEvents starts the event recorder and returns a function that stops it.
func (n *node) startEvents() (stop func()) {
	broadcaster := record.NewBroadcaster()
	broadcaster.StartRecordingToSink(agent.NewEventSink(n.client))
	n.events = broadcaster.NewRecorder(scheme.Scheme, corev1.EventSource{Component: eventComponent, Host: n.opts.Name})
	return broadcaster.Shutdown
}

// recordEvent records an event about a container, or about the pod if container is empty.
func (n *node) recordEvent(pod *corev1.Pod, container, eventType, reason, message string) {
	ref := &corev1.ObjectReference{Kind: "Pod", APIVersion: "v1", Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID,
		ResourceVersion: pod.ResourceVersion, FieldPath: fieldPath(pod, container)}
	n.events.Event(ref, eventType, reason, message)
}

// nodeRef returns the involved object of node events. As in the kubelet the UID is the node's
// name.
func (n *node) nodeRef() *corev1.ObjectReference {
	return &corev1.ObjectReference{Kind: "Node", APIVersion: "v1", Name: n.opts.Name, UID: types.UID(n.opts.Name)}
}

func fieldPath(pod *corev1.Pod, container string) string {
	named := func(c corev1.Container) bool { return c.Name == container }
	switch {
	case container == "":
		return ""
	case slices.ContainsFunc(pod.Spec.InitContainers, named):
		return fmt.Sprintf("spec.initContainers{%s}", container)
	case slices.ContainsFunc(pod.Spec.EphemeralContainers, func(c corev1.EphemeralContainer) bool { return c.Name == container }):
		return fmt.Sprintf("spec.ephemeralContainers{%s}", container)
	}
	return fmt.Sprintf("spec.containers{%s}", container)
}
