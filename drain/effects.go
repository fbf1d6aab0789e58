package drain

import (
	"slices"
	"time"

	"github.com/berthproject/berth/engine/budget"
	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/displace"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/placement"
	"github.com/berthproject/berth/engine/scheduling"
)

// carry does at once what the scheduler's machine asks for, and answers.
func (w *world) carry(e scheduling.Effect) {
	out := scheduling.Outcome{ID: e.EffectID(), Result: scheduling.Done}
	switch e := e.(type) {
	case scheduling.Bind:
		w.change(e.Pod.UID, func(p *model.Pod) { p.NodeName, p.Nominated, p.Unscheduled = e.Node, "", "" })
	case scheduling.Reject:
		if p := w.view.Pod(e.Pod.UID); p != nil && p.Unscheduled != "Unschedulable" {
			w.change(p.UID, func(p *model.Pod) { p.Unscheduled = "Unschedulable" })
		}
	case scheduling.Hold:
		w.change(e.Pod.UID, func(p *model.Pod) { p.Unscheduled = "SchedulingGated" })
	case scheduling.Look:
		out.Seen = w.view.Pod(e.Pod.UID)
	case scheduling.Preempt:
		w.makeRoom(e)
	case scheduling.Unnominate:
		if p := w.view.Pod(e.Pod.UID); p != nil && p.Nominated != "" {
			w.change(p.UID, func(p *model.Pod) { p.Nominated = "" })
		}
	case scheduling.Prepare:
		w.prepare(e)
	case scheduling.Missed:
		return
	}
	w.events = append(w.events, out)
}

// makeRoom nominates a pod and has its victims leave.
func (w *world) makeRoom(e scheduling.Preempt) {
	p := w.view.Pod(e.Pod.UID)
	if p == nil {
		return
	}
	if p.Nominated != e.Plan.Node {
		w.change(p.UID, func(p *model.Pod) { p.Nominated = e.Plan.Node })
	}
	for i := range e.Plan.Debits {
		d := &e.Plan.Debits[i]
		b := w.budgets[d.Budget.Namespace][d.Budget.Name]
		if b == nil {
			continue
		}
		for _, v := range e.Plan.Victims {
			b = booked(b, d, v, w.now)
		}
		w.putBudget(b)
	}
	for _, v := range e.Plan.Victims {
		if is := w.view.Pod(v.UID); is != nil && !is.Deleting {
			w.preempt = append(w.preempt, Preempted{Pod: is, By: e.Pod})
			w.leave(is, displace.Preemption.Reason(), true)
		}
	}
}

// booked is a budget after a victim was paid for, or booked against its will.
func booked(b *model.Budget, d *decision.Debit, v *model.Pod, now time.Time) *model.Budget {
	if !slices.Contains(d.Paid, v.Name) && !slices.Contains(d.Overruled, v.Name) {
		return b
	}
	c := *budget.Debited(b, v, now)
	c.DisruptionsAllowed = max(c.DisruptionsAllowed, 0)
	return &c
}

// prepare gives claims their volumes, and makes those that are to be made.
func (w *world) prepare(e scheduling.Prepare) {
	for _, b := range e.Plan.Bind {
		w.bindClaim(b.Claim, b.Volume)
	}
	for _, c := range e.Plan.Provision {
		v := &model.PersistentVolume{Name: "foretold-" + c.Namespace + "-" + c.Name, Class: c.ClassName(), Capacity: c.Request, Modes: c.Modes, Block: c.Block, Phase: "Bound"}
		if id, ok := w.view.State.NodeID(e.Node); ok {
			if host, ok := w.view.State.Node(id).Model.Labels.Get(placement.HostnameKey); ok {
				v.Affinity = &model.NodeAffine{Terms: []model.NodeTerm{{Labels: []model.Requirement{{Key: placement.HostnameKey, Values: []string{host}}}}}}
			}
		}
		w.bindClaim(c, v)
	}
}

func (w *world) bindClaim(claim *model.PersistentVolumeClaim, volume *model.PersistentVolume) {
	c, v := *claim, *volume
	c.Volume, c.Bound = v.Name, true
	v.Claim, v.Phase = model.ClaimRef{Namespace: c.Namespace, Name: c.Name, UID: c.UID}, "Bound"
	w.events = append(w.events, &v, &c)
}
