package nodeagent

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/record"
)

// eventComponent is under which name the agent tells of pods and nodes: the kubelet's,
// since people and tools look for it.
const eventComponent = "kubelet"

// startEvents starts to record events; stop ends it.
func (n *node) startEvents() (stop func()) {
	broadcaster := record.NewBroadcaster()
	broadcaster.StartRecordingToSink(&typedcorev1.EventSinkImpl{Interface: n.client.CoreV1().Events("")})
	n.events = broadcaster.NewRecorder(scheme.Scheme, corev1.EventSource{Component: eventComponent, Host: n.opts.Name})
	return broadcaster.Shutdown
}

// recordEvent records one about a container of a pod, or about the pod where container is empty.
func (n *node) recordEvent(pod *corev1.Pod, container, eventType, reason, message string) {
	ref := &corev1.ObjectReference{Kind: "Pod", APIVersion: "v1", Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID,
		ResourceVersion: pod.ResourceVersion, FieldPath: fieldPath(pod, container)}
	n.events.Event(ref, eventType, reason, message)
}

// nodeRef is the node as events are about it: the kubelet gives its name for its uid.
func (n *node) nodeRef() *corev1.ObjectReference {
	return &corev1.ObjectReference{Kind: "Node", APIVersion: "v1", Name: n.opts.Name, UID: types.UID(n.opts.Name)}
}

// fieldPath is where a container stands in its pod, as events say it.
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
