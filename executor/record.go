package executor

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
	"github.com/berthproject/berth/internal/journal"
)

// maxPodNameLen leaves room in an event's name for what follows the pod's.
const maxPodNameLen = 253 - 1 - 16

// maxInstanceLen is how long an event's reportingInstance may be.
const maxInstanceLen = 128

// RecordEventName is the name of the event that tells of a pod's displacement: one a pod.
func RecordEventName(name, uid string) string {
	h := fnv.New64a()
	_, _ = h.Write([]byte(uid + "\x00displacement"))
	if len(name) > maxPodNameLen {
		name = strings.TrimRight(name[:maxPodNameLen], "-.")
	}
	return fmt.Sprintf("%s.%016x", name, h.Sum64())
}

// WriteRecord writes the event about a displacement, which carries its record, and the line of the
// journal. The event is there at most once, however often it is written and by however many
// processes: its name follows from the pod. What the server will never take is told to Lost
// and stops nothing; after any other error it is to be tried again, lest the pod goes without a record.
func (d *Displacer) WriteRecord(ctx context.Context, r *displacement.Record) error {
	err := d.tryWriteRecord(ctx, r)
	if err != nil && isPermanent(err) {
		d.reportLost("event", err)
		return nil
	}
	return err
}

func (d *Displacer) reportLost(what string, err error) {
	if err != nil && d.OnRecordLost != nil {
		d.OnRecordLost(what, err)
	}
}

// tryWriteRecord returns the error of the event; that of the journal is told to Lost.
func (d *Displacer) tryWriteRecord(ctx context.Context, r *displacement.Record) error {
	rec := journal.NewDisplacement(r, d.Now(), d.reportingController(r))
	reason, action := r.Cause.Event()
	created, err := d.WriteEvent(ctx, rec, r.Preemptor, reason, action, r.EventNote())
	switch {
	case err != nil && !isPermanent(err):
		return err // it is told again
	case created || err != nil && d.countOnce(rec):
		d.reportLost("journal", d.Journal.Append(rec))
	}
	return err
}

// isPermanent says whether an error means that the server will not take an event, ever.
func isPermanent(err error) bool {
	return isDefiniteRejection(err) && !apierrors.IsTooManyRequests(err)
}

// countOnce counts a displacement, and says whether it had not been counted.
func (d *Displacer) countOnce(rec *journal.Displacement) bool {
	first := d.dedup.markCounted(rec.Pod.UID)
	if first && d.OnDisplaced != nil {
		d.OnDisplaced(rec)
	}
	return first
}

// WriteEvent writes the event that carries a record, and says whether the record was told by that for
// the first time. One that is there already stays, unless it was pieced together afterwards and this
// record was not. Related is the pod for whose sake the victim leaves; it may be nil.
func (d *Displacer) WriteEvent(ctx context.Context, rec *journal.Displacement, related *model.Pod, reason, action, note string) (created bool, err error) {
	text, err := rec.JSON()
	if err != nil {
		return false, err
	}
	instance := cmp.Or(d.Instance, rec.Writer) // the API wants one, and no longer one
	instance = instance[:min(len(instance), maxInstanceLen)]
	ev := &eventsv1.Event{
		ObjectMeta: metav1.ObjectMeta{Namespace: rec.Pod.Namespace, Name: RecordEventName(rec.Pod.Name, rec.Pod.UID),
			Annotations: map[string]string{journal.Annotation: text}, Labels: map[string]string{journal.Label: rec.Cause}},
		EventTime: metav1.NewMicroTime(d.Now()), ReportingController: rec.Writer, ReportingInstance: instance,
		Action: action, Reason: reason, Type: corev1.EventTypeNormal, Note: TruncateNote(note),
		Regarding: corev1.ObjectReference{APIVersion: "v1", Kind: "Pod", Namespace: rec.Pod.Namespace, Name: rec.Pod.Name, UID: types.UID(rec.Pod.UID)},
	}
	if related != nil {
		other := reference(related)
		ev.Related = &other
	}
	_, err = d.Client.EventsV1().Events(ev.Namespace).Create(ctx, ev, metav1.CreateOptions{})
	switch {
	case err == nil:
		return d.countOnce(rec), nil
	case apierrors.IsAlreadyExists(err):
		return d.resolveExisting(ctx, rec, ev)
	case !isDefiniteRejection(err):
		d.dedup.markUnanswered(rec.Pod.UID)
	}
	return false, err
}

// resolveExisting does what is left when an event is there already, and says whether its record is this one.
func (d *Displacer) resolveExisting(ctx context.Context, rec *journal.Displacement, ev *eventsv1.Event) (bool, error) {
	sent := d.dedup.isUnanswered(rec.Pod.UID)
	if rec.Reconstructed && !sent {
		return false, nil
	}
	have, err := d.Client.EventsV1().Events(ev.Namespace).Get(ctx, ev.Name, metav1.GetOptions{})
	if err != nil {
		if isDefiniteRejection(err) { // one may write and not read
			err = nil
		}
		return false, err
	}
	if sent && have.ReportingController == ev.ReportingController && have.ReportingInstance == ev.ReportingInstance {
		return d.countOnce(rec), nil // it was written, and only the answer got lost
	}
	guess, err := journal.ParseDisplacement(have.Annotations[journal.Annotation])
	if err != nil || rec.Reconstructed || !guess.Reconstructed {
		return false, nil
	}
	return true, d.ReplaceRecord(ctx, have, rec)
}

// ReplaceRecord puts a record in place of the one that an event carries, unless the event has changed.
// What else an event says cannot be changed.
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

// reportingController is in whose name a displacement is told.
func (d *Displacer) reportingController(r *displacement.Record) string {
	if r.Cause == displacement.Preemption && r.Preemptor != nil {
		return r.Preemptor.Spec.SchedulerName
	}
	return d.Component
}

func reference(p *model.Pod) corev1.ObjectReference {
	return corev1.ObjectReference{APIVersion: "v1", Kind: "Pod", Namespace: p.Namespace, Name: p.Name,
		UID: types.UID(p.UID), ResourceVersion: p.ResourceVersion}
}
