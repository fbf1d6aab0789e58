package sim

import (
	"fmt"
	"net/http"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/berthproject/berth/actuate"
	"github.com/berthproject/berth/api/v1alpha1"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/rebalance/carry"
	"github.com/berthproject/berth/sim/store"
)

// carryOn has done what the machine says, and returns when to ask again.
func (d *descheduler) carryOn(now time.Time) time.Time {
	actions, wake := d.machine.Step(now, d.look().view)
	for _, a := range actions {
		d.act(a)
	}
	for _, x := range d.machine.Moves() {
		if s := news(x); s != "" && d.told[x] != s {
			d.told[x] = s
			d.w.tell(d.name, x.Stage.String(), x.Pod.Key(), x.Pod.Key()+" "+s)
		}
	}
	return wake
}

func (d *descheduler) act(a carry.Action) {
	answer := func(got carry.Answer) {
		d.machine.Answer(d.w.now, a.Is(), got)
		d.steps.poke(0)
	}
	said := func(err error) {
		if err != nil {
			answer(carry.Answer{Words: err.Error(), Final: apierrors.IsForbidden(err)})
			return
		}
		answer(carry.Answer{Done: true})
	}
	switch a := a.(type) {
	case carry.Reserve:
		d.w.tell(d.name, "hold", a.Move.Pod.Key(), fmt.Sprintf("the room on %s is held for the replacement of %s", a.Hold.Node, a.Move.Pod.Key()))
		d.send("hold", a.Move.Pod.Key(), func() error { return d.putHold(a.Hold) }, said)
	case carry.Avoid:
		d.w.tell(d.name, "hold", a.Move.Pod.Key(), fmt.Sprintf("pods of %s stay off %s for %v: %s", a.Hold.Owner.Name, a.Hold.Node, a.Hold.Until.Sub(d.w.now).Round(time.Second), a.Move.Why))
		d.send("hold", a.Move.Pod.Key(), func() error { return d.putHold(a.Hold) }, said)
	case carry.Release:
		d.w.tell(d.name, "release", a.Hold.Key(), fmt.Sprintf("the hold on %s for pods of %s ends: %s", a.Hold.Node, a.Hold.Owner.Name, a.Why))
		d.send("hold", a.Hold.Key(), func() error {
			err := d.w.api.Remove(store.Holds, a.Hold.Key(), store.Precondition{})
			if apierrors.IsNotFound(err) {
				return nil
			}
			return err
		}, said)
	case carry.Evict:
		m := a.Move.Move
		d.evict(m.Pod, m.Strategy, func(got Answer) {
			done := got.Code == http.StatusCreated || got.Code == http.StatusNotFound || got.Code == http.StatusConflict
			answer(carry.Answer{Done: done, Words: got.String(), Final: got.Code == http.StatusForbidden})
		})
	}
}

// evict asks for an eviction; what comes of it is told unless the descheduler was killed meanwhile.
func (d *descheduler) evict(p *model.Pod, strategy string, then func(Answer)) {
	life := d.life
	d.w.Evict(Eviction{Pod: p.Key(), UID: p.UID, By: d.name, Rule: strategy, Grace: d.o.Policy.Grace}, func(a Answer) {
		if a.Code == http.StatusCreated {
			d.w.returns.left(p, d.w.now)
		}
		if d.life == life {
			then(a)
		}
	})
}

// putHold makes a Hold, or makes that of its name what it is to be.
func (d *descheduler) putHold(h *model.Hold) error {
	want := actuate.HoldObject(h, d.name)
	err := d.w.api.Create(want)
	if !apierrors.IsAlreadyExists(err) {
		return err
	}
	return d.w.api.Change(store.Holds, h.Key(), store.Precondition{}, func(o store.Object) error {
		if have, ok := o.(*v1alpha1.Hold); ok {
			have.Labels, have.Spec = want.Labels, want.Spec
		}
		return nil
	})
}

// news is how far a move is, after the pod's name; empty while its turn has not come.
func news(x *carry.Move) string {
	switch x.Stage {
	case carry.Waiting:
		if x.Why != "" {
			return "waits: " + x.Why
		}
	case carry.Leaving:
		return fmt.Sprintf("leaves %s for %s (%s)", x.From, x.To, x.Strategy)
	case carry.Over:
		s := x.Outcome.String()
		if x.Replacement != nil && x.Replacement.NodeName != "" {
			s += ", to " + x.Replacement.NodeName
		}
		if x.Why != "" {
			s += ": " + x.Why
		}
		return s
	}
	return ""
}
