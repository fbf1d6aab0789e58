package displacement

import (
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	enginedisplacement "github.com/berthproject/berth/engine/displacement"
	"github.com/berthproject/berth/internal/conversion"
	"github.com/berthproject/berth/sim"
	"github.com/berthproject/berth/sim/store"
)

// Displacement is the displacement of a pod by an actor.
type Displacement struct {
	Pod        *corev1.Pod
	Record     enginedisplacement.Record
	Grace      *int64 // nil: the pod's own
	MarkFailed bool   // no agent reports its termination: set phase Failed
	// RespectsBudgets: the budgets allow it, and have an entry if required.
	RespectsBudgets bool
	// RecordInBudgets: it overrules budgets and adds entries to them.
	RecordInBudgets bool
	// ResourceVersion is the required one at deletion; empty: any.
	ResourceVersion string
	Message         string // for the timeline, after the pod's key
}

// Displacing is the notice that a pod is about to be deleted by a displacement.
type Displacing struct {
	Pod          *corev1.Pod // as stored
	Displacement *Displacement
}

// Displaced is the notice that a pod was displaced.
type Displaced struct{ Cause enginedisplacement.Cause }

// Displace displaces a pod in the order of package executor: condition, event, deletion. With RecordInBudgets it
// first adds the budget entries. Each step is idempotent. A pod that was already deleted counts as a success.
func (s *Server) Displace(c *sim.Client, d Displacement, onDone func(error)) {
	key := store.KeyOf(d.Pod)
	type step struct {
		kind    string
		execute func() error
	}
	steps := []step{
		{sim.RequestDisruptionTarget, func() error { return s.setDisruptionTarget(&d) }},
		{sim.RequestEvent, func() error { return CreateRecordEvent(s.w, &d.Record, c.Name()) }},
		{sim.RequestDelete, func() error { return s.Delete(&d, c.Name()) }},
	}
	if d.RecordInBudgets && store.PodReady(d.Pod) && len(s.ledger.BudgetsOf(d.Pod)) > 0 {
		steps = append([]step{{sim.RequestBudgetEntry, func() error { return s.recordInBudgets(&d) }}}, steps...)
	}
	var next func(i int)
	next = func(i int) {
		if i == len(steps) {
			onDone(nil)
			return
		}
		c.Request(steps[i].kind, key, steps[i].execute, func(err error) {
			switch {
			case apierrors.IsNotFound(err) || apierrors.IsConflict(err) && !sim.IsInjectedConflict(err):
				onDone(nil) // the pod was deleted
			case err != nil && !(steps[i].kind == sim.RequestEvent && sim.IsInjectedConflict(err)): // a rejected event does not stop the displacement
				onDone(err)
			default:
				next(i + 1)
			}
		})
	}
	next(0)
}

// setDisruptionTarget sets the DisruptionTarget condition of a pod.
func (s *Server) setDisruptionTarget(d *Displacement) error {
	return s.w.API().UpdatePod(store.KeyOf(d.Pod), store.Precondition{UID: string(d.Pod.UID)}, func(p *corev1.Pod) error {
		fails := d.MarkFailed && p.Status.Phase != corev1.PodSucceeded && p.Status.Phase != corev1.PodFailed
		if c := conversion.ActiveDisruptionTarget(p); c != nil && c.Reason == d.Record.Cause.Reason() && !fails {
			return store.ErrUnchanged
		}
		p.Status.Conditions = store.WithCondition(p.Status.Conditions, TargetCondition(&d.Record, s.w.Now()))
		if fails {
			p.Status.Phase = corev1.PodFailed
		}
		return nil
	})
}

// recordInBudgets adds entries for the pod to its budgets.
func (s *Server) recordInBudgets(d *Displacement) error {
	entries, err := s.ledger.Overrule(d.Pod)
	d.Record.Entries = append(d.Record.Entries, entries...)
	return err
}

// TargetCondition returns the DisruptionTarget condition of a displacement.
func TargetCondition(r *enginedisplacement.Record, now time.Time) corev1.PodCondition {
	return conversion.NewDisruptionTarget(r.Cause.Reason(), r.Message(), now)
}

// Delete deletes the pod of a displacement. It sends the notices Displacing and Displaced, unless the pod was
// displaced already.
func (s *Server) Delete(d *Displacement, actor string) error {
	key := store.KeyOf(d.Pod)
	p := s.w.API().Pod(key)
	if p == nil || p.UID != d.Pod.UID {
		return apierrors.NewNotFound(corev1.Resource("pods"), d.Pod.Name)
	}
	if d.ResourceVersion != "" && p.ResourceVersion != d.ResourceVersion {
		return apierrors.NewConflict(corev1.Resource("pods"), d.Pod.Name, errors.New("the pod changed in the meantime"))
	}
	alreadyDisplaced := p.DeletionTimestamp != nil || store.Finished(p) && !d.MarkFailed
	if !alreadyDisplaced {
		s.w.Notify(Displacing{p, d})
	}
	if err := s.w.API().DeletePod(key, store.Precondition{UID: string(d.Pod.UID)}, d.Grace); err != nil {
		return err
	}
	if !alreadyDisplaced {
		s.w.Notify(Displaced{d.Record.Cause})
		s.w.Log(actor, "displace", key, fmt.Sprintf("%s on %s %s", key, p.Spec.NodeName, d.Message))
	}
	return nil
}
