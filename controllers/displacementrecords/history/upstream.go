package history

import (
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/berthproject/berth/controllers/displacementrecords"
	"github.com/berthproject/berth/engine/displacement"
	"github.com/berthproject/berth/internal/journal"
)

// upstreamEvents are the reasons of events that tell of a displacement and carry no record, with the cause. Some
// tell of other things, too: what begins as none of the openings does is no displacement.
var upstreamEvents = map[string]struct {
	cause    displacement.Cause
	openings []string // of the note; none: any
}{
	"Preempted":            {displacement.Preemption, []string{"Preempted by"}},                // kube-scheduler
	"TaintManagerEviction": {displacement.Taint, []string{"Marking for deletion", "Deleting"}}, // taint manager, which tells of cancelling, too
	"Evicted":              {displacement.Pressure, nil},                                       // kubelet
	"Preempting":           {displacement.Admission, nil},                                      // kubelet, for a critical pod
	"Descheduled":          {displacement.API, nil},                                            // descheduler
}

// fromEvent is the record that an event carries, or what it tells without one; nil when it is about
// something else, or about what is not its namespace's (records.Of).
func fromEvent(e *corev1.Event) *journal.Displacement {
	if e.Annotations[journal.Annotation] != "" {
		return displacementrecords.FromEvent(e)
	}
	f, known := upstreamEvents[e.Reason]
	if o := e.InvolvedObject; !known || o.Kind != "Pod" || o.Namespace != e.Namespace || !hasAnyPrefix(e.Message, f.openings) {
		return nil
	}
	d := &journal.Displacement{Time: displacementrecords.ClampTime(e, timeOf(e)), Cause: f.cause.String(), Reason: f.cause.Reason(), Message: e.Message, By: writerOf(e), Reconstructed: true,
		Pod: journal.Pod{Namespace: e.InvolvedObject.Namespace, Name: e.InvolvedObject.Name, UID: string(e.InvolvedObject.UID)}}
	switch f.cause {
	case displacement.Preemption:
		if r := e.Related; r != nil && r.Kind == "Pod" {
			d.For = &journal.Pod{Namespace: r.Namespace, Name: r.Name, UID: string(r.UID)}
		}
		if _, node, told := strings.Cut(e.Message, " on node "); told {
			d.Node = node
		}
	case displacement.Pressure, displacement.Admission:
		d.Node = e.Source.Host
	}
	return d
}

func hasAnyPrefix(note string, prefixes []string) bool {
	for _, o := range prefixes {
		if strings.HasPrefix(note, o) {
			return true
		}
	}
	return len(prefixes) == 0
}

func timeOf(e *corev1.Event) time.Time {
	switch {
	case !e.EventTime.IsZero():
		return e.EventTime.UTC()
	case !e.FirstTimestamp.IsZero():
		return e.FirstTimestamp.UTC()
	}
	return e.CreationTimestamp.UTC()
}

func writerOf(e *corev1.Event) string {
	if e.ReportingController != "" {
		return e.ReportingController
	}
	return e.Source.Component
}
