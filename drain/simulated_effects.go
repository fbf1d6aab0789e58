package drain

import (
	"slices"
	"time"

	"github.com/berthproject/berth/engine/budget"
	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/displacement"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/placement/framework"
	"github.com/berthproject/berth/engine/scheduling"
)

// applyEffect executes an effect of the scheduler's machine at once and reports its outcome.
func (sc *simulatedCluster) applyEffect(e scheduling.Effect) {
	out := scheduling.Outcome{ID: e.EffectID(), Result: scheduling.Done}
	switch e := e.(type) {
	case scheduling.Bind:
		sc.change(e.Pod.UID, func(p *model.Pod) { p.NodeName, p.NominatedNodeName, p.UnschedulableReason = e.Node, "", "" })
	case scheduling.ReportUnschedulable:
		if p := sc.view.Pod(e.Pod.UID); p != nil && p.UnschedulableReason != "Unschedulable" {
			sc.change(p.UID, func(p *model.Pod) { p.UnschedulableReason = "Unschedulable" })
		}
	case scheduling.ReportGated:
		sc.change(e.Pod.UID, func(p *model.Pod) { p.UnschedulableReason = "SchedulingGated" })
	case scheduling.RefreshPod:
		out.Pod = sc.view.Pod(e.Pod.UID)
	case scheduling.Preempt:
		sc.preemptVictims(e)
	case scheduling.ClearNomination:
		if p := sc.view.Pod(e.Pod.UID); p != nil && p.NominatedNodeName != "" {
			sc.change(p.UID, func(p *model.Pod) { p.NominatedNodeName = "" })
		}
	case scheduling.BindVolumes:
		sc.prepareClaims(e)
	case scheduling.MissedWakeup:
		return
	}
	sc.events = append(sc.events, out)
}

// preemptVictims nominates a pod and deletes its victims.
func (sc *simulatedCluster) preemptVictims(e scheduling.Preempt) {
	p := sc.view.Pod(e.Pod.UID)
	if p == nil {
		return
	}
	if p.NominatedNodeName != e.Plan.Node {
		sc.change(p.UID, func(p *model.Pod) { p.NominatedNodeName = e.Plan.Node })
	}
	for i := range e.Plan.Debits {
		d := &e.Plan.Debits[i]
		b := sc.budgets[d.Budget.Namespace][d.Budget.Name]
		if b == nil {
			continue
		}
		for _, v := range e.Plan.Victims {
			b = debitVictim(b, d, v, sc.now)
		}
		sc.putBudget(b)
	}
	for _, v := range e.Plan.Victims {
		if current := sc.view.Pod(v.UID); current != nil && !current.Deleting {
			sc.preempted = append(sc.preempted, preemptionVictim{Pod: current, By: e.Pod})
			sc.deletePod(current, displacement.Preemption.Reason(), true)
		}
	}
}

// debitVictim returns a budget after the debit of a victim, allowed or overruled.
func debitVictim(b *model.Budget, d *decision.Debit, v *model.Pod, now time.Time) *model.Budget {
	if !slices.Contains(d.Granted, v.Name) && !slices.Contains(d.Overruled, v.Name) {
		return b
	}
	c := *budget.Debit(b, v, now)
	c.DisruptionsAllowed = max(c.DisruptionsAllowed, 0)
	return &c
}

// prepareClaims binds claims to their volumes and creates missing volumes.
func (sc *simulatedCluster) prepareClaims(e scheduling.BindVolumes) {
	for _, b := range e.Plan.Bind {
		sc.bindClaim(b.Claim, b.Volume)
	}
	for _, c := range e.Plan.Provision {
		v := &model.PersistentVolume{Name: "preview-" + c.Namespace + "-" + c.Name, Class: c.ClassName(), Capacity: c.Request, AccessModes: c.AccessModes, Block: c.Block, Phase: "Bound"}
		if id, ok := sc.view.State.NodeID(e.Node); ok {
			if host, ok := sc.view.State.Node(id).Model.Labels.Get(framework.HostnameKey); ok {
				v.Affinity = &model.VolumeNodeAffinity{Terms: []model.NodeSelectorTerm{{Labels: []model.Requirement{{Key: framework.HostnameKey, Values: []string{host}}}}}}
			}
		}
		sc.bindClaim(c, v)
	}
}

func (sc *simulatedCluster) bindClaim(claim *model.PersistentVolumeClaim, volume *model.PersistentVolume) {
	c, v := *claim, *volume
	c.VolumeName, c.Bound = v.Name, true
	v.Claim, v.Phase = model.ClaimRef{Namespace: c.Namespace, Name: c.Name, UID: c.UID}, "Bound"
	sc.events = append(sc.events, &v, &c)
}
