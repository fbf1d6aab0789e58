package invariants

import (
	"fmt"
	"strings"
	"time"

	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/placement"
	"github.com/berthproject/berth/engine/preemption"
	"github.com/berthproject/berth/sim/store"
)

// CheckSettled checks a cluster after all faults are cleared and everything had time to
// settle: no pod may be pending that could be scheduled, and the controllers must finish their work. It waits for a
// moment without activity, as containers may restart forever.
func (a *Checker) CheckSettled() error {
	w := a.w
	for end := w.Now().Add(5 * time.Minute); !a.scheduler.IsIdle() && w.Next(end); {
	}
	if w.Violation() == nil && a.scheduler.IsIdle() {
		a.compareWithStore(true)
		a.checkNoPodWouldFit()
		if a.o.All && w.Violation() == nil {
			a.checkLiveness()
		}
	} else if w.Violation() == nil {
		requests, events, inputs := a.scheduler.InFlight()
		a.w.Fail("NoBusyLoop", fmt.Sprintf("the scheduler does not become idle: %d requests, %d watch events and %d inputs are in flight", requests, events, inputs))
	}
	return w.Violation()
}

// checkNoPodWouldFit checks that no pending pod would fit or could preempt.
func (a *Checker) checkNoPodWouldFit() {
	m := a.scheduler.Machine()
	for _, o := range a.w.API().List(store.Pods) {
		p := m.State().Pod(string(o.GetUID()))
		if p == nil || p.NodeName != "" || p.Finished() || p.Deleting {
			continue
		}
		profile := a.profileOf(p)
		if _, attempted := m.PodState(p.UID); profile == nil || attempted {
			continue
		}
		rec := placement.Evaluate(m.State(), profile, a.o.TieBreakSeed, p)
		if rec.Outcome == decision.Scheduled {
			a.w.Fail("NoPendingPodFits", fmt.Sprintf("pod %s is pending and would fit %s", p.Key(), rec.Choice))
		}
		if rec.Outcome != decision.Infeasible {
			continue
		}
		preempting := preemption.Evaluate(m.State(), profile, a.o.TieBreakSeed, a.o.Preemption, p, rec)
		if preempting.Preemption.Outcome == decision.PreemptionNominated {
			a.w.Fail("NoPendingPodCouldPreempt", fmt.Sprintf("pod %s is pending and could preempt on %s: %s", p.Key(), preempting.Preemption.Node, victimNames(&preempting.Preemption)))
		}
	}
}

// victimNames returns the keys of the victims.
func victimNames(p *decision.Preemption) string {
	var names []string
	for _, v := range p.Victims {
		names = append(names, v.Key())
	}
	return strings.Join(names, " ")
}
