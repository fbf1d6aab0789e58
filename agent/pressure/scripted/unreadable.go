package scripted

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/berthproject/berth/agent/runtime/simulated"
)

// reasonUnreadable is the reason of events about annotations that cannot be read.
const reasonUnreadable = "UnreadableAnnotation"

// mostTold is what an event's message may hold, in bytes.
const mostTold = 1000

// tellUnreadable has an event tell of a pod's annotations that cannot be read: once, and again only when
// something else is wrong with them.
func (s *Shell) tellUnreadable(pod *corev1.Pod) {
	if s.opts.Events == nil {
		return
	}
	text := strings.Join(simulated.Unreadable(pod), "; and ")
	if len(text) > mostTold {
		text = strings.ToValidUTF8(text[:mostTold], "") + "..."
	}
	s.mu.Lock()
	before := s.told[pod.UID]
	if text != "" {
		s.told[pod.UID] = text
	}
	s.mu.Unlock()
	if text != "" && text != before {
		s.opts.Events.Event(pod, corev1.EventTypeWarning, reasonUnreadable, text)
	}
}

// Forget implements runtime.Runtime.
func (n noticing) Forget(pod types.UID) {
	n.Runtime.Forget(pod)
	n.shell.mu.Lock()
	defer n.shell.mu.Unlock()
	delete(n.shell.told, pod)
}
