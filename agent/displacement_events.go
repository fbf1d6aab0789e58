package agent

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/record"

	"github.com/berthproject/berth/engine/displacement"
	"github.com/berthproject/berth/internal/displacer"
	"github.com/berthproject/berth/internal/journal"
)

// DisplacementAnnotations returns the annotations of the event about a pod that the node displaces at a time:
// its displacement record. Recorders of such events need the sink of NewEventSink.
func DisplacementAnnotations(p *corev1.Pod, cause displacement.Cause, reason, message string, grace *int64, at time.Time) map[string]string {
	rec := displacer.RecordOf(p, cause, at, displacer.NodeAgent)
	rec.Reason, rec.Message, rec.GraceSeconds = reason, message, grace
	text, err := rec.JSON()
	if err != nil {
		return nil // the controller of displacement records reconstructs it
	}
	return map[string]string{journal.Annotation: text}
}

// DisplacementEvents returns a recorder that passes events about displaced pods to r and drops all
// other events. It limits the number of events of thousands of simulated nodes.
func DisplacementEvents(r record.EventRecorder) record.EventRecorder { return displacementEvents{r: r} }

type displacementEvents struct {
	discardRecorder
	r record.EventRecorder
}

// AnnotatedEventf implements record.EventRecorder.
func (d displacementEvents) AnnotatedEventf(object runtime.Object, annotations map[string]string, eventType, reason, format string, args ...any) {
	if annotations[journal.Annotation] != "" {
		d.r.AnnotatedEventf(object, annotations, eventType, reason, format, args...)
	}
}

// NewEventSink returns a sink that stores events in the API. An event with a displacement record
// gets the name and label of that record, so that a displaced pod has a single record.
func NewEventSink(client kubernetes.Interface) record.EventSink {
	return displacementSink{&typedcorev1.EventSinkImpl{Interface: client.CoreV1().Events("")}}
}

type displacementSink struct{ record.EventSink }

// Create implements record.EventSink.
func (s displacementSink) Create(e *corev1.Event) (*corev1.Event, error) {
	if text := e.Annotations[journal.Annotation]; text != "" {
		if rec, err := journal.ParseDisplacement(text); err == nil {
			e = e.DeepCopy()
			e.Name, e.Labels = displacer.RecordEventName(rec.Pod.Name, rec.Pod.UID), map[string]string{journal.Label: rec.Cause}
		}
	}
	return s.EventSink.Create(e)
}
