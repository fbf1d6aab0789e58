package displacer

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/berthproject/berth/engine/displacement"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/internal/apierror"
	"github.com/berthproject/berth/internal/journal"
)

// maxPodNameLen leaves room in an event's name for the suffix.
const maxPodNameLen = 253 - 1 - 16

// maxInstanceLen is the API's limit for an event's reportingInstance.
const maxInstanceLen = 128

// RecordEventName returns the name of the event with a pod's displacement record. There is one per pod.
func RecordEventName(name, uid string) string {
	h := fnv.New64a()
	_, _ = h.Write([]byte(uid + "\x00displacement"))
	if len(name) > maxPodNameLen {
		name = strings.TrimRight(name[:maxPodNameLen], "-.")
	}
	return fmt.Sprintf("%s.%016x", name, h.Sum64())
}

// NodeAgent is the writer of the records of node agents.
const NodeAgent = "berth-agent"

// CountOnce counts a displacement whose record another program wrote, unless it is counted already.
func (d *Displacer) CountOnce(rec *journal.Displacement) { d.countOnce(rec) }

// WriteRecord writes the displacement event, which carries the record, and the journal line. The event exists at
// most once, however many processes write it, because its name is derived from the pod. WriteRecord reports a
// permanent rejection to OnRecordLost and returns nil. The caller must retry any other error, so that no pod is
// deleted without a record.
func (d *Displacer) WriteRecord(ctx context.Context, r *displacement.Record) error {
	err := d.tryWriteRecord(ctx, r)
	if err != nil && isPermanent(err) {
		d.reportLost("event", err)
		return nil
	}
	return err
}

func (d *Displacer) reportLost(kind string, err error) {
	if err != nil && d.OnRecordLost != nil {
		d.OnRecordLost(kind, err)
	}
}

// tryWriteRecord returns the error of the event write. Journal errors are reported to OnRecordLost.
func (d *Displacer) tryWriteRecord(ctx context.Context, r *displacement.Record) error {
	rec := journal.NewDisplacement(r, d.Now(), d.reportingController(r))
	reason, action := r.Cause.Event()
	created, err := d.WriteEvent(ctx, rec, r.Preemptor, reason, action, r.EventNote())
	switch {
	case err != nil && !isPermanent(err):
		return err // the caller retries
	case created || err != nil && d.countOnce(rec):
		d.reportLost("journal", d.Journal.Append(rec))
	}
	return err
}

// countOnce counts a displacement and reports whether it was not counted before.
func (d *Displacer) countOnce(rec *journal.Displacement) bool {
	first := d.dedup.markCounted(rec.Pod.UID)
	if first && d.OnDisplaced != nil {
		d.OnDisplaced(rec)
	}
	return first
}

// WriteEvent writes the event that carries a record and reports whether this call recorded the displacement. An
// existing event is not changed, unless its record was reconstructed and this one was not. related is the pod that the
// victim is evicted for; it may be nil.
func (d *Displacer) WriteEvent(ctx context.Context, rec *journal.Displacement, related *model.Pod, reason, action, note string) (created bool, err error) {
	text, err := rec.JSON()
	if err != nil {
		return false, err
	}
	instance := cmp.Or(d.Instance, rec.Writer) // the API requires one and limits its length
	instance = instance[:min(len(instance), maxInstanceLen)]
	ev := &eventsv1.Event{
		ObjectMeta: metav1.ObjectMeta{Namespace: rec.Pod.Namespace, Name: RecordEventName(rec.Pod.Name, rec.Pod.UID),
			Annotations: map[string]string{journal.Annotation: text}, Labels: map[string]string{journal.Label: rec.Cause}},
		EventTime: metav1.NewMicroTime(d.Now()), ReportingController: rec.Writer, ReportingInstance: instance,
		Action: action, Reason: reason, Type: corev1.EventTypeNormal, Note: TruncateNote(note),
		Regarding: corev1.ObjectReference{APIVersion: "v1", Kind: "Pod", Namespace: rec.Pod.Namespace, Name: rec.Pod.Name, UID: types.UID(rec.Pod.UID)},
	}
	if related != nil {
		ref := Reference(related)
		ev.Related = &ref
	}
	_, err = d.Client.EventsV1().Events(ev.Namespace).Create(ctx, ev, metav1.CreateOptions{})
	switch {
	case err == nil:
		return d.countOnce(rec), nil
	case apierrors.IsAlreadyExists(err):
		return d.resolveExisting(ctx, rec, ev)
	case !apierror.IsRejected(err):
		d.dedup.markUnanswered(rec.Pod.UID)
	}
	return false, err
}

// resolveExisting replaces the reconstructed record of an event that exists already. It reports whether this call, or
// an earlier one whose response was lost, recorded the displacement.
func (d *Displacer) resolveExisting(ctx context.Context, rec *journal.Displacement, ev *eventsv1.Event) (bool, error) {
	unanswered := d.dedup.isUnanswered(rec.Pod.UID)
	if rec.Reconstructed && !unanswered {
		return false, nil
	}
	existing, err := d.Client.EventsV1().Events(ev.Namespace).Get(ctx, ev.Name, metav1.GetOptions{})
	if err != nil {
		if apierror.IsRejected(err) { // create may be allowed without get
			err = nil
		}
		return false, err
	}
	if unanswered && existing.ReportingController == ev.ReportingController && existing.ReportingInstance == ev.ReportingInstance {
		return d.countOnce(rec), nil // the event was written, only the response was lost
	}
	record, err := journal.ParseDisplacement(existing.Annotations[journal.Annotation])
	if err != nil || rec.Reconstructed || !record.Reconstructed {
		return false, nil
	}
	return true, d.ReplaceRecord(ctx, existing, rec)
}

// ReplaceRecord replaces the record of an event, unless the event has changed. The other fields of an event are
// immutable.
func (d *Displacer) ReplaceRecord(ctx context.Context, e metav1.Object, rec *journal.Displacement) error {
	text, err := rec.JSON()
	if err != nil {
		return err
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"resourceVersion": e.GetResourceVersion(),
		"annotations": map[string]string{journal.Annotation: text}, "labels": map[string]string{journal.Label: rec.Cause}}})
	if err != nil {
		return err
	}
	_, err = d.Client.EventsV1().Events(e.GetNamespace()).Patch(ctx, e.GetName(), types.MergePatchType, patch, metav1.PatchOptions{})
	return err
}

// reportingController returns the reporting controller of a displacement event.
func (d *Displacer) reportingController(r *displacement.Record) string {
	if r.Cause == displacement.Preemption && r.Preemptor != nil {
		return r.Preemptor.Spec.SchedulerName
	}
	return d.Component
}

// Reference returns a reference to a pod.
func Reference(p *model.Pod) corev1.ObjectReference {
	return corev1.ObjectReference{APIVersion: "v1", Kind: "Pod", Namespace: p.Namespace, Name: p.Name,
		UID: types.UID(p.UID), ResourceVersion: p.ResourceVersion}
}
