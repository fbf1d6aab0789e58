package actuate

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

	"github.com/berthproject/berth/engine/displace"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/internal/journal"
)

// longestName leaves room in an event's name for what follows the pod's.
const longestName = 253 - 1 - 16

// longestInstance is how long an event's reportingInstance may be.
const longestInstance = 128

// RecordName is the name of the event that tells of a pod's displacement: one a pod.
func RecordName(name, uid string) string {
	h := fnv.New64a()
	_, _ = h.Write([]byte(uid + "\x00displacement"))
	if len(name) > longestName {
		name = strings.TrimRight(name[:longestName], "-.")
	}
	return fmt.Sprintf("%s.%016x", name, h.Sum64())
}

// Tell writes the event about a displacement, which carries its record, and the line of the
// journal. The event is there at most once, however often it is written and by however many
// processes: its name follows from the pod. What the server will never take is told to Lost
// and stops nothing; after any other error it is to be tried again, lest the pod goes without a record.
func (d *Displacer) Tell(ctx context.Context, r *displace.Record) error {
	err := d.tell(ctx, r)
	if err != nil && settled(err) {
		d.lost("event", err)
		return nil
	}
	return err
}

func (d *Displacer) lost(what string, err error) {
	if err != nil && d.Lost != nil {
		d.Lost(what, err)
	}
}

// tell returns the error of the event; that of the journal is told to Lost.
func (d *Displacer) tell(ctx context.Context, r *displace.Record) error {
	rec := journal.Of(r, d.Now(), d.component(r))
	reason, action := r.Cause.Event()
	created, err := d.Event(ctx, rec, r.For, reason, action, r.Note())
	switch {
	case err != nil && !settled(err):
		return err // it is told again
	case created || err != nil && d.first(rec):
		d.lost("journal", d.Journal.Append(rec))
	}
	return err
}

// settled says whether an error means that the server will not take an event, ever.
func settled(err error) bool { return certain(err) && !apierrors.IsTooManyRequests(err) }

// first counts a displacement, and says whether it had not been counted.
func (d *Displacer) first(rec *journal.Displacement) bool {
	first := d.tally.first(rec.Pod.UID)
	if first && d.Count != nil {
		d.Count(rec)
	}
	return first
}

// Event writes the event that carries a record, and says whether the record was told by that for
// the first time. One that is there already stays, unless it was pieced together afterwards and this
// record was not. Related is the pod for whose sake the victim leaves; it may be nil.
func (d *Displacer) Event(ctx context.Context, rec *journal.Displacement, related *model.Pod, reason, action, note string) (created bool, err error) {
	text, err := rec.JSON()
	if err != nil {
		return false, err
	}
	instance := cmp.Or(d.Instance, rec.Writer) // the API wants one, and no longer one
	instance = instance[:min(len(instance), longestInstance)]
	ev := &eventsv1.Event{
		ObjectMeta: metav1.ObjectMeta{Namespace: rec.Pod.Namespace, Name: RecordName(rec.Pod.Name, rec.Pod.UID),
			Annotations: map[string]string{journal.Annotation: text}, Labels: map[string]string{journal.Label: rec.Cause}},
		EventTime: metav1.NewMicroTime(d.Now()), ReportingController: rec.Writer, ReportingInstance: instance,
		Action: action, Reason: reason, Type: corev1.EventTypeNormal, Note: Truncate(note),
		Regarding: corev1.ObjectReference{APIVersion: "v1", Kind: "Pod", Namespace: rec.Pod.Namespace, Name: rec.Pod.Name, UID: types.UID(rec.Pod.UID)},
	}
	if related != nil {
		other := reference(related)
		ev.Related = &other
	}
	_, err = d.Client.EventsV1().Events(ev.Namespace).Create(ctx, ev, metav1.CreateOptions{})
	switch {
	case err == nil:
		return d.first(rec), nil
	case apierrors.IsAlreadyExists(err):
		return d.there(ctx, rec, ev)
	case !certain(err):
		d.tally.unanswered(rec.Pod.UID)
	}
	return false, err
}

// there does what is left when an event is there already, and says whether its record is this one.
func (d *Displacer) there(ctx context.Context, rec *journal.Displacement, ev *eventsv1.Event) (bool, error) {
	sent := d.tally.sent(rec.Pod.UID)
	if rec.Afterwards && !sent {
		return false, nil
	}
	have, err := d.Client.EventsV1().Events(ev.Namespace).Get(ctx, ev.Name, metav1.GetOptions{})
	if err != nil {
		if certain(err) { // one may write and not read
			err = nil
		}
		return false, err
	}
	if sent && have.ReportingController == ev.ReportingController && have.ReportingInstance == ev.ReportingInstance {
		return d.first(rec), nil // it was written, and only the answer got lost
	}
	guess, err := journal.ParseDisplacement(have.Annotations[journal.Annotation])
	if err != nil || rec.Afterwards || !guess.Afterwards {
		return false, nil
	}
	return true, d.Rewrite(ctx, have, rec)
}

// Rewrite puts a record in place of the one that an event carries, unless the event has changed.
// What else an event says cannot be changed.
func (d *Displacer) Rewrite(ctx context.Context, e metav1.Object, rec *journal.Displacement) error {
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

// component is in whose name a displacement is told.
func (d *Displacer) component(r *displace.Record) string {
	if r.Cause == displace.Preemption && r.For != nil {
		return r.For.Spec.SchedulerName
	}
	return d.Component
}

func reference(p *model.Pod) corev1.ObjectReference {
	return corev1.ObjectReference{APIVersion: "v1", Kind: "Pod", Namespace: p.Namespace, Name: p.Name,
		UID: types.UID(p.UID), ResourceVersion: p.ResourceVersion}
}
