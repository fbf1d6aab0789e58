package pressure

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/record"

	"github.com/berthproject/berth/agent"
	"github.com/berthproject/berth/engine/displacement"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/nodepressure"
	"github.com/berthproject/berth/internal/conversion"
)

// NewEviction returns the request to the agent for an eviction at a time. immediate means that the agent kills the
// containers without hooks or grace. The agent calls done when no process of the pod remains and, if the cause is memory,
// no tmpfs either.
func NewEviction(pod *corev1.Pod, e *nodepressure.Evict, immediate bool, at time.Time, done func()) agent.Eviction {
	out := agent.Eviction{
		Pod: pod.UID, Reason: nodepressure.ReasonEvicted, Message: e.Message, Immediate: immediate,
		Grace: time.Duration(e.Grace) * time.Second, UntilReleased: usesMemory(e.Cause), Done: done,
	}
	if e.Condition {
		c := conversion.NewDisruptionTarget(nodepressure.ReasonTerminationByKubelet, e.Message, at)
		out.Condition = &c
	}
	return out
}

// usesMemory reports whether evictions for a cause free memory.
func usesMemory(cause string) bool {
	signal, ok := nodepressure.ParseSignal(cause)
	return ok && signal.Pressure() == model.MemoryPressure
}

// RecordEviction records the event about an eviction at a time, with its displacement record. events may be
// nil; its sink must be that of agent.NewEventSink.
func RecordEviction(events record.EventRecorder, pod *corev1.Pod, e *nodepressure.Evict, at time.Time) {
	if events == nil {
		return
	}
	grace, reason := e.Grace, nodepressure.ReasonEvicted
	if e.Condition {
		reason = nodepressure.ReasonTerminationByKubelet
	}
	annotations := agent.DisplacementAnnotations(pod, displacement.Pressure, reason, e.Message, &grace, at)
	for _, l := range e.Annotations {
		annotations[l.Key] = l.Value
	}
	events.AnnotatedEventf(pod, annotations, corev1.EventTypeWarning, nodepressure.ReasonEvicted, "%s", e.Message)
}
