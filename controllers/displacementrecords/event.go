package displacementrecords

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berthproject/berth/internal/displacer"
	"github.com/berthproject/berth/internal/journal"
)

// FromEvent returns the record of an event, or nil if the record is missing or not trusted. Users who may create events
// can write any content. A record is therefore trusted only in the namespace of its pod and under the event name that
// belongs to that pod.
func FromEvent(e metav1.Object) *journal.Displacement {
	rec, err := journal.ParseDisplacement(e.GetAnnotations()[journal.Annotation])
	if err != nil || rec.Pod.Namespace != e.GetNamespace() || e.GetName() != displacer.RecordEventName(rec.Pod.Name, rec.Pod.UID) {
		return nil
	}
	rec.Time = ClampTime(e, rec.Time)
	return rec
}

// ClampTime limits the time that a record claims to the creation time of its event. The API server sets the creation
// time; the record's time may be forged or from a clock that is ahead.
func ClampTime(e metav1.Object, reported time.Time) time.Time {
	created := e.GetCreationTimestamp().UTC()
	if latest := created.Add(time.Second); reported.After(latest) { // the API stores whole seconds
		return latest
	}
	return reported
}
