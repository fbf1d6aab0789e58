package invariants

import (
	"time"

	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/placement"
	"github.com/berthproject/berth/engine/preemption"
)

// CheckSettled checks a cluster after all faults are cleared and everything had time to
// settle: no pod may be pending that could be scheduled, and the controllers must finish their work. It waits for a
// moment without activity, as containers may restart forever.
func (a *Checker) CheckSettled() error {
	w := a.w
	for end := w.Now().Add(5 * time.Minute); !a.o.Scheduler.IsIdle() && w.Next(end); {
	}
	if w.Violation() == nil && a.o.Scheduler.IsIdle() {
		a.compareWithStore(true)
		a.checkNoPodWouldFit()
		if a.o.All && w.Violation() == nil {
			a.checkLiveness()
		}
	} else if w.Violation() == nil {
		requests, events, inputs := a.o.Scheduler.InFlight()
		a.failf("NoBusyLoop", "the scheduler does not become idle: %d requests, %d watch events and %d inputs are in flight", requests, events, inputs)
	}
	return w.Violation()
}

// checkNoPodWouldFit checks that no pending pod would fit or could preempt.
func (a *Checker) checkNoPodWouldFit() {
	m := a.o.Scheduler.Machine()
	for p, profile := range a.pendingPods() {
		if _, attempted := m.PodState(p.UID); attempted {
			continue
		}
		d := placement.Evaluate(m.State(), profile, a.o.TieBreakSeed, p)
		switch d.Outcome {
		case decision.Scheduled:
			a.failf("NoPendingPodFits", "pod %s is pending and would fit %s", p.Key(), d.Choice)
		case decision.Infeasible:
			d := preemption.Evaluate(m.State(), profile, a.o.TieBreakSeed, a.o.Preemption, p, d).Preemption
			if d.Outcome == decision.PreemptionNominated {
				a.failf("NoPendingPodCouldPreempt", "pod %s is pending and could preempt %d pods on %s", p.Key(), len(d.Victims), d.Node)
			}
		}
	}
}
