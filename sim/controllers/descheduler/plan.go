package descheduler

import (
	"fmt"
	"time"

	"github.com/berthproject/berth/engine/descheduling"
	"github.com/berthproject/berth/engine/descheduling/planning"
	"github.com/berthproject/berth/engine/evacuation"
)

// makePlan makes a plan and passes it to the machine.
func (d *Descheduler) makePlan(now time.Time) {
	c := d.clusterView()
	inProgress := d.machine.InProgress()
	c.snapshot.ApplyInProgress(inProgress)
	d.cached = nil // the snapshot was modified
	p := planning.New(c.snapshot, c.view.State, planning.Options{Now: now, Mode: d.mode(), SchedulersWithoutHolds: d.o.SchedulersWithoutHolds, InProgress: inProgress, Profiles: d.profiles(), Seed: d.seed(), Backoff: d.backoff})
	descheduling.RunPolicy(c.snapshot, &d.o.Policy, p)
	plan := p.Plan()
	d.machine.SetPlan(now, plan)
	previous := d.lastMessages
	d.lastMessages = map[*evacuation.Move]string{}
	for _, m := range d.machine.Moves() {
		if s, ok := previous[m]; ok {
			d.lastMessages[m] = s
		}
	}
	if refused := formatRefusals(plan); len(plan.Moves) > 0 || refused != "" {
		d.w.Log(d.Name(), "plan", "", fmt.Sprintf("%d moves are planned%s", len(plan.Moves), refused))
	}
}

// formatRefusals formats the refusals of a plan by reason.
func formatRefusals(p *planning.Plan) (s string) {
	for _, c := range p.Counts {
		s += fmt.Sprintf("; %d refused: %s", c.Count, c.Reason)
	}
	return s
}
