package sim

import (
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berthproject/berth/actuate"
	"github.com/berthproject/berth/engine/displace"
	"github.com/berthproject/berth/internal/journal"
	"github.com/berthproject/berth/sim/store"
)

// displacement is a pod that an actor drives out.
type displacement struct {
	pod    *corev1.Pod
	record displace.Record
	grace  *int64 // nil: the pod's own
	fails  bool   // nobody will report its end: it is marked as failed at once
	// obeys: budgets were asked, and have an entry for it if they had to.
	obeys bool
	// books: it overrules budgets, and is booked in them.
	books bool
	// version is what the pod must be at when it is deleted; empty: any.
	version string
	words   string // for the timeline, after the pod's name
}

// displace drives a pod out in the order that actuate has: the condition, the event, the
// deletion. All of it may be done again. A pod that is gone is a success.
func (c *client) displace(d displacement, then func(error)) {
	key := keyOf(d.pod)
	type step struct {
		effect string
		do     func() error
	}
	steps := []step{
		{"mark", func() error { return c.w.mark(&d) }},
		{"tell", func() error { return c.w.record(&d.record, c.name) }},
		{"delete", func() error { return c.w.driveOut(&d, c.name) }},
	}
	if d.books && isReady(d.pod) && len(c.w.cover.of(d.pod)) > 0 {
		steps = append([]step{{"book", func() error { return c.w.book(&d) }}}, steps...)
	}
	var next func(i int)
	next = func(i int) {
		if i == len(steps) {
			then(nil)
			return
		}
		c.send(steps[i].effect, key, steps[i].do, func(err error) {
			switch {
			case apierrors.IsNotFound(err) || apierrors.IsConflict(err) && !clashed(err):
				then(nil) // it is gone
			case err != nil && !(steps[i].effect == "tell" && clashed(err)): // an event that the server will never take stops nothing
				then(err)
			default:
				next(i + 1)
			}
		})
	}
	next(0)
}

// mark writes on a pod why it has to go, as the last who wanted it has it.
func (w *World) mark(d *displacement) error {
	return w.api.ChangePod(keyOf(d.pod), store.Precondition{UID: string(d.pod.UID)}, func(p *corev1.Pod) error {
		fails := d.fails && p.Status.Phase != corev1.PodSucceeded && p.Status.Phase != corev1.PodFailed
		if c := disrupted(p); c != nil && c.Reason == d.record.Cause.Reason() && !fails {
			return store.ErrNothing
		}
		p.Status.Conditions = store.WithCondition(p.Status.Conditions, corev1.PodCondition{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue,
			Reason: d.record.Cause.Reason(), Message: d.record.Message(), LastTransitionTime: metav1.NewTime(w.now)})
		if fails {
			p.Status.Phase = corev1.PodFailed
		}
		return nil
	})
}

// disrupted is the condition that says that a pod is being displaced; nil: nobody does.
func disrupted(p *corev1.Pod) *corev1.PodCondition {
	for i := range p.Status.Conditions {
		if c := &p.Status.Conditions[i]; c.Type == corev1.DisruptionTarget && c.Status == corev1.ConditionTrue {
			return c
		}
	}
	return nil
}

// record writes the event of a displacement, once a pod.
func (w *World) record(r *displace.Record, writer string) error {
	rec := journal.Of(r, w.now, writer)
	text, err := rec.JSON()
	if err != nil {
		return err
	}
	reason, action := r.Cause.Event()
	err = w.api.Create(&eventsv1.Event{
		ObjectMeta: metav1.ObjectMeta{Namespace: r.Victim.Namespace, Name: actuate.RecordName(r.Victim.Name, r.Victim.UID),
			Annotations: map[string]string{journal.Annotation: text}},
		EventTime: metav1.NewMicroTime(w.now), ReportingController: writer, Reason: reason, Action: action, Type: corev1.EventTypeNormal, Note: r.Note(),
		Regarding: corev1.ObjectReference{APIVersion: "v1", Kind: "Pod", Namespace: r.Victim.Namespace, Name: r.Victim.Name, UID: uid(r.Victim.UID)},
	})
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}

// driveOut deletes the pod.
func (w *World) driveOut(d *displacement, by string) error {
	key := keyOf(d.pod)
	p := w.api.Pod(key)
	if p == nil || p.UID != d.pod.UID {
		return apierrors.NewNotFound(corev1.Resource("pods"), d.pod.Name)
	}
	if d.version != "" && p.ResourceVersion != d.version {
		return apierrors.NewConflict(corev1.Resource("pods"), d.pod.Name, errors.New("it has changed meanwhile"))
	}
	again := p.DeletionTimestamp != nil || finished(p) && !d.fails
	if !again {
		w.audit.leaves(p, d)
	}
	if err := w.api.DeletePod(key, store.Precondition{UID: string(d.pod.UID)}, d.grace); err != nil {
		return err
	}
	if !again {
		w.counts.Displaced[d.record.Cause]++
		w.tell(by, "displace", key, fmt.Sprintf("%s on %s %s", key, p.Spec.NodeName, d.words))
	}
	return nil
}
