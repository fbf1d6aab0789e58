package history

import (
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/berthproject/berth/control/records"
	"github.com/berthproject/berth/engine/displace"
	"github.com/berthproject/berth/internal/journal"
)

// foreign are the reasons of events that tell of a displacement and carry no record, with the cause. Some
// tell of other things, too: what begins as none of the openings does is no displacement.
var foreign = map[string]struct {
	cause    displace.Cause
	openings []string // of the note; none: any
}{
	"Preempted":            {displace.Preemption, []string{"Preempted by"}},                // kube-scheduler
	"TaintManagerEviction": {displace.Taint, []string{"Marking for deletion", "Deleting"}}, // taint manager, which tells of cancelling, too
	"Evicted":              {displace.Pressure, nil},                                       // kubelet
	"Preempting":           {displace.Admission, nil},                                      // kubelet, for a critical pod
	"Descheduled":          {displace.API, nil},                                            // descheduler
}

// ofEvent is the record that an event carries, or what it tells without one; nil when it is about
// something else, or about what is not its namespace's (records.Of).
func ofEvent(e *corev1.Event) *journal.Displacement {
	if e.Annotations[journal.Annotation] != "" {
		return records.Of(e)
	}
	f, known := foreign[e.Reason]
	if o := e.InvolvedObject; !known || o.Kind != "Pod" || o.Namespace != e.Namespace || !opens(e.Message, f.openings) {
		return nil
	}
	d := &journal.Displacement{Time: records.NotAfter(e, timeOf(e)), Cause: f.cause.String(), Reason: f.cause.Reason(), Message: e.Message, By: writerOf(e), Afterwards: true,
		Pod: journal.Pod{Namespace: e.InvolvedObject.Namespace, Name: e.InvolvedObject.Name, UID: string(e.InvolvedObject.UID)}}
	switch f.cause {
	case displace.Preemption:
		if r := e.Related; r != nil && r.Kind == "Pod" {
			d.For = &journal.Pod{Namespace: r.Namespace, Name: r.Name, UID: string(r.UID)}
		}
		if _, node, told := strings.Cut(e.Message, " on node "); told {
			d.Node = node
		}
	case displace.Pressure, displace.Admission:
		d.Node = e.Source.Host
	}
	return d
}

func opens(note string, openings []string) bool {
	for _, o := range openings {
		if strings.HasPrefix(note, o) {
			return true
		}
	}
	return len(openings) == 0
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
