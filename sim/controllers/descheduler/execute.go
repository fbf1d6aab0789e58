package descheduler

import (
	"fmt"
	"net/http"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/berthproject/berth/api/v1alpha1"
	"github.com/berthproject/berth/engine/evacuation"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/executor"
	"github.com/berthproject/berth/sim"
	"github.com/berthproject/berth/sim/displacement"
	"github.com/berthproject/berth/sim/store"
)

// runMachine executes the machine's actions and returns when to call it again.
func (d *Descheduler) runMachine(now time.Time) time.Time {
	d.clusterView()
	actions, wake := d.machine.Step(now)
	for i := range actions {
		d.runAction(&actions[i])
	}
	for _, m := range d.machine.Moves() {
		if s := describeMove(m); s != "" && d.lastMessages[m] != s {
			d.lastMessages[m] = s
			d.w.Log(d.Name(), m.Stage.String(), m.Pod.Key(), m.Pod.Key()+" "+s)
		}
	}
	return wake
}

// runAction executes an action and passes its result to the machine.
func (d *Descheduler) runAction(a *evacuation.Action) {
	handleResult := func(r evacuation.Result) {
		d.machine.HandleResult(d.w.Now(), a.ID, r)
		d.steps.Schedule(0)
	}
	finish := func(err error) {
		if err != nil {
			handleResult(evacuation.Result{Message: err.Error(), Permanent: apierrors.IsForbidden(err)})
			return
		}
		handleResult(evacuation.Result{Done: true})
	}
	switch a.Kind {
	case evacuation.Reserve:
		d.w.Log(d.Name(), "hold", a.Move.Pod.Key(), fmt.Sprintf("capacity on %s is reserved for the replacement of %s", a.Hold.Node, a.Move.Pod.Key()))
		d.Request(sim.RequestHold, a.Move.Pod.Key(), func() error { return d.upsertHold(a.Hold) }, finish)
	case evacuation.Avoid:
		d.w.Log(d.Name(), "hold", a.Move.Pod.Key(), fmt.Sprintf("pods of %s avoid %s for %v: %s", a.Hold.Owner.Name, a.Hold.Node, a.Hold.Until.Sub(d.w.Now()).Round(time.Second), a.Move.Reason))
		d.Request(sim.RequestHold, a.Move.Pod.Key(), func() error { return d.upsertHold(a.Hold) }, finish)
	case evacuation.Release:
		d.w.Log(d.Name(), "release", a.Hold.Key(), fmt.Sprintf("the Hold on %s for pods of %s is released: %s", a.Hold.Node, a.Hold.Owner.Name, a.Reason))
		d.Request(sim.RequestHold, a.Hold.Key(), func() error {
			err := d.w.API().Delete(store.Holds, a.Hold.Key(), store.Precondition{})
			if apierrors.IsNotFound(err) {
				return nil
			}
			return err
		}, finish)
	case evacuation.Evict:
		m := a.Move.Planned
		d.evict(m.Pod, m.Strategy, func(response displacement.EvictionResponse) {
			done := response.Code == http.StatusCreated || response.Code == http.StatusNotFound || response.Code == http.StatusConflict
			handleResult(evacuation.Result{Done: done, Message: response.String(), Permanent: response.Code == http.StatusForbidden})
		})
	}
}

// evict requests an eviction and passes the response to onResponse unless the descheduler was killed
// in the meantime.
func (d *Descheduler) evict(p *model.Pod, strategy string, onResponse func(displacement.EvictionResponse)) {
	generation := d.Generation()
	d.server.Evict(displacement.EvictionRequest{Pod: p.Key(), UID: p.UID, Requester: d.Name(), Rule: strategy, Grace: d.o.Policy.Grace}, func(response displacement.EvictionResponse) {
		if response.Code == http.StatusCreated {
			d.returns.recordEviction(p, d.w.Now())
		}
		if d.Generation() == generation {
			onResponse(response)
		}
	})
}

// upsertHold creates or updates a Hold.
func (d *Descheduler) upsertHold(h *model.Hold) error {
	want := executor.NewHoldObject(h, d.Name())
	err := d.w.API().Create(want)
	if !apierrors.IsAlreadyExists(err) {
		return err
	}
	return d.w.API().Update(store.Holds, h.Key(), store.Precondition{}, func(o store.Object) error {
		if current, ok := o.(*v1alpha1.Hold); ok {
			current.Labels, current.Spec = want.Labels, want.Spec
		}
		return nil
	})
}

// describeMove describes the progress of a move; it is empty before its first check.
func describeMove(m *evacuation.Move) string {
	switch m.Stage {
	case evacuation.Waiting:
		if m.Reason != "" {
			return "is waiting: " + m.Reason
		}
	case evacuation.Terminating:
		return fmt.Sprintf("moves from %s to %s (%s)", m.From, m.Planned.To, m.Planned.Strategy)
	case evacuation.Finished:
		s := m.Outcome.String()
		if m.Replacement != nil && m.Replacement.NodeName != "" {
			s += ", to " + m.Replacement.NodeName
		}
		if m.Reason != "" {
			s += ": " + m.Reason
		}
		return s
	}
	return ""
}
