package scripted

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/berthproject/berth/agent/runtime/simulated"
)

// reasonUnreadableAnnotation is the event reason for invalid annotations.
const reasonUnreadableAnnotation = "UnreadableAnnotation"

// maxEventMessage is the maximum length of an event message in bytes.
const maxEventMessage = 1000

// reportInvalidAnnotations reports a pod's invalid annotations. It repeats the report only if the errors change.
func (m *Manager) reportInvalidAnnotations(pod *corev1.Pod) {
	if m.opts.Events == nil && m.opts.OnInvalidAnnotation == nil {
		return
	}
	text := strings.Join(simulated.InvalidAnnotations(pod), "; and ")
	if len(text) > maxEventMessage {
		text = strings.ToValidUTF8(text[:maxEventMessage], "") + "..."
	}
	m.mu.Lock()
	last := m.reported[pod.UID]
	if text != "" {
		m.reported[pod.UID] = text
	}
	m.mu.Unlock()
	if text == "" || text == last {
		return
	}
	if m.opts.Events != nil {
		m.opts.Events.Event(pod, corev1.EventTypeWarning, reasonUnreadableAnnotation, text)
	}
	if m.opts.OnInvalidAnnotation != nil {
		m.opts.OnInvalidAnnotation(pod, text)
	}
}

// Forget implements runtime.Runtime.
func (r observedRuntime) Forget(pod types.UID) {
	r.Runtime.Forget(pod)
	r.manager.mu.Lock()
	defer r.manager.mu.Unlock()
	delete(r.manager.reported, pod)
}
