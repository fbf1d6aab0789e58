package cluster

import (
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	enginedisplacement "github.com/berthproject/berth/engine/displacement"
	"github.com/berthproject/berth/executor"
	"github.com/berthproject/berth/internal/journal"
	"github.com/berthproject/berth/sim"
	"github.com/berthproject/berth/sim/store"
)

// displacement is the displacement of a pod by an actor.
type displacement struct {
	pod        *corev1.Pod
	record     enginedisplacement.Record
	grace      *int64 // nil: the pod's own
	markFailed bool   // no agent will report its end: set phase Failed at once
	// respectsBudgets: budgets allowed it and have an entry if required.
	respectsBudgets bool
	// recordInBudgets: it overrules budgets and adds entries to them.
	recordInBudgets bool
	// required resourceVersion at deletion; empty: any
	resourceVersion string
	message         string // for the timeline, after the pod's key
}

// displace displaces a pod in the order of package executor: condition, event, deletion. Each
// step is idempotent. A pod that is gone counts as a success.
func (w *Cluster) displace(c *sim.Client, d displacement, then func(error)) {
	key := store.KeyOf(d.pod)
	type step struct {
		effect string
		do     func() error
	}
	steps := []step{
		{"mark", func() error { return w.setDisruptionTarget(&d) }},
		{"tell", func() error { return w.createRecordEvent(&d.record, c.Name()) }},
		{"delete", func() error { return w.deleteDisplaced(&d, c.Name()) }},
	}
	if d.recordInBudgets && store.PodReady(d.pod) && len(w.budgetIndex.budgetsOf(d.pod)) > 0 {
		steps = append([]step{{"book", func() error { return w.recordInBudgets(&d) }}}, steps...)
	}
	var next func(i int)
	next = func(i int) {
		if i == len(steps) {
			then(nil)
			return
		}
		c.Request(steps[i].effect, key, steps[i].do, func(err error) {
			switch {
			case apierrors.IsNotFound(err) || apierrors.IsConflict(err) && !sim.IsInjectedConflict(err):
				then(nil) // it is gone
			case err != nil && !(steps[i].effect == "tell" && sim.IsInjectedConflict(err)): // a rejected event does not stop the displacement
				then(err)
			default:
				next(i + 1)
			}
		})
	}
	next(0)
}

// setDisruptionTarget sets the DisruptionTarget condition of a pod.
func (w *Cluster) setDisruptionTarget(d *displacement) error {
	return w.API().UpdatePod(store.KeyOf(d.pod), store.Precondition{UID: string(d.pod.UID)}, func(p *corev1.Pod) error {
		fails := d.markFailed && p.Status.Phase != corev1.PodSucceeded && p.Status.Phase != corev1.PodFailed
		if c := store.DisruptionTarget(p); c != nil && c.Reason == d.record.Cause.Reason() && !fails {
			return store.ErrUnchanged
		}
		p.Status.Conditions = store.WithCondition(p.Status.Conditions, corev1.PodCondition{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue,
			Reason: d.record.Cause.Reason(), Message: d.record.Message(), LastTransitionTime: metav1.NewTime(w.Now())})
		if fails {
			p.Status.Phase = corev1.PodFailed
		}
		return nil
	})
}

// createRecordEvent creates the event with the displacement record, once per pod.
func (w *Cluster) createRecordEvent(r *enginedisplacement.Record, writer string) error {
	rec := journal.NewDisplacement(r, w.Now(), writer)
	text, err := rec.JSON()
	if err != nil {
		return err
	}
	reason, action := r.Cause.Event()
	err = w.API().Create(&eventsv1.Event{
		ObjectMeta: metav1.ObjectMeta{Namespace: r.Victim.Namespace, Name: executor.RecordEventName(r.Victim.Name, r.Victim.UID),
			Annotations: map[string]string{journal.Annotation: text}},
		EventTime: metav1.NewMicroTime(w.Now()), ReportingController: writer, Reason: reason, Action: action, Type: corev1.EventTypeNormal, Note: r.EventNote(),
		Regarding: corev1.ObjectReference{APIVersion: "v1", Kind: "Pod", Namespace: r.Victim.Namespace, Name: r.Victim.Name, UID: types.UID(r.Victim.UID)},
	})
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}

// deleteDisplaced deletes the pod.
func (w *Cluster) deleteDisplaced(d *displacement, by string) error {
	key := store.KeyOf(d.pod)
	p := w.API().Pod(key)
	if p == nil || p.UID != d.pod.UID {
		return apierrors.NewNotFound(corev1.Resource("pods"), d.pod.Name)
	}
	if d.resourceVersion != "" && p.ResourceVersion != d.resourceVersion {
		return apierrors.NewConflict(corev1.Resource("pods"), d.pod.Name, errors.New("it changed in the meantime"))
	}
	again := p.DeletionTimestamp != nil || store.Finished(p) && !d.markFailed
	if !again {
		w.audit.checkDisplacement(p, d)
	}
	if err := w.API().DeletePod(key, store.Precondition{UID: string(d.pod.UID)}, d.grace); err != nil {
		return err
	}
	if !again {
		w.counts.Displaced[d.record.Cause]++
		w.Log(by, "displace", key, fmt.Sprintf("%s on %s %s", key, p.Spec.NodeName, d.message))
	}
	return nil
}
