package records

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berthproject/berth/actuate"
	"github.com/berthproject/berth/internal/journal"
)

// Of is the record that an event carries; nil if it carries none that can be believed. Many may write events of a namespace, and
// put into them what they like. So an event tells of pods of its own namespace, under the name that the event of such a
// record has, and of no other.
func Of(e metav1.Object) *journal.Displacement {
	rec, err := journal.ParseDisplacement(e.GetAnnotations()[journal.Annotation])
	if err != nil || rec.Pod.Namespace != e.GetNamespace() || e.GetName() != actuate.RecordName(rec.Pod.Name, rec.Pod.UID) {
		return nil
	}
	rec.Time = NotAfter(e, rec.Time)
	return rec
}

// NotAfter is the time that an event tells, or when the event was made if that would be later: this the API server says, that
// anybody, or a clock that is ahead.
func NotAfter(e metav1.Object, told time.Time) time.Time {
	made := e.GetCreationTimestamp().UTC()
	if latest := made.Add(time.Second); told.After(latest) { // the API keeps whole seconds
		return latest
	}
	return told
}
