package displacementrecords

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berthproject/berth/executor"
	"github.com/berthproject/berth/internal/journal"
)

// FromEvent is the record that an event carries; nil if it carries none that can be believed. Many may write events of a namespace, and
// put into them what they like. So an event tells of pods of its own namespace, under the name that the event of such a
// record has, and of no other.
func FromEvent(e metav1.Object) *journal.Displacement {
	rec, err := journal.ParseDisplacement(e.GetAnnotations()[journal.Annotation])
	if err != nil || rec.Pod.Namespace != e.GetNamespace() || e.GetName() != executor.RecordEventName(rec.Pod.Name, rec.Pod.UID) {
		return nil
	}
	rec.Time = ClampTime(e, rec.Time)
	return rec
}

// ClampTime is the time that an event tells, or when the event was made if that would be later: this the API server says, that
// anybody, or a clock that is ahead.
func ClampTime(e metav1.Object, reported time.Time) time.Time {
	made := e.GetCreationTimestamp().UTC()
	if latest := made.Add(time.Second); reported.After(latest) { // the API keeps whole seconds
		return latest
	}
	return reported
}
