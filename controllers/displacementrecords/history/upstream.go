package history

import (
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/berthproject/berth/controllers/displacementrecords"
	"github.com/berthproject/berth/engine/displacement"
	"github.com/berthproject/berth/internal/journal"
)

// upstreamEvents maps the event reasons of upstream components to causes. An event whose note has none of the
// prefixes is not a displacement.
var upstreamEvents = map[string]struct {
	cause    displacement.Cause
	prefixes []string // required prefixes of the note; nil: any
}{
	"Preempted":            {displacement.Preemption, []string{"Preempted by"}},                // kube-scheduler
	"TaintManagerEviction": {displacement.Taint, []string{"Marking for deletion", "Deleting"}}, // taint manager, which also reports cancellations
	"Evicted":              {displacement.Pressure, nil},                                       // kubelet
	"Preempting":           {displacement.Admission, nil},                                      // kubelet, for a critical pod
	"Descheduled":          {displacement.API, nil},                                            // descheduler
}

// fromEvent returns the record of an event, or a record derived from an upstream event. It returns nil for other
// events and for records that are not trusted, see displacementrecords.FromEvent.
func fromEvent(e *corev1.Event) *journal.Displacement {
	if e.Annotations[journal.Annotation] != "" {
		return displacementrecords.FromEvent(e)
	}
	f, ok := upstreamEvents[e.Reason]
	if o := e.InvolvedObject; !ok || o.Kind != "Pod" || o.Namespace != e.Namespace || !hasAnyPrefix(e.Message, f.prefixes) {
		return nil
	}
	d := &journal.Displacement{Time: displacementrecords.ClampTime(e, timeOf(e)), Cause: f.cause.String(), Reason: f.cause.Reason(), Message: e.Message, RequestedBy: writerOf(e), Reconstructed: true,
		Pod: journal.Pod{Namespace: e.InvolvedObject.Namespace, Name: e.InvolvedObject.Name, UID: string(e.InvolvedObject.UID)}}
	switch f.cause {
	case displacement.Preemption:
		if r := e.Related; r != nil && r.Kind == "Pod" {
			d.Preemptor = &journal.Pod{Namespace: r.Namespace, Name: r.Name, UID: string(r.UID)}
		}
		if _, node, found := strings.Cut(e.Message, " on node "); found {
			d.Node = node
		}
	case displacement.Pressure, displacement.Admission:
		d.Node = e.Source.Host
	}
	return d
}

func hasAnyPrefix(note string, prefixes []string) bool {
	for _, p := range prefixes {
		if strings.HasPrefix(note, p) {
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
