package scheduling

import (
	"slices"
	"time"

	"github.com/berthproject/berth/engine/budget"
	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/displacement"
	"github.com/berthproject/berth/engine/model"
)

// nomination is the pending state of a pod's nomination: it is not written yet, or victims are
// still terminating. Until the API shows the nomination, the state has the pod as if it did.
type nomination struct {
	uid, node      string // an empty node clears the nomination
	phase          phase
	apiNode        string               // the nomination in the API
	effectPod      *model.Pod           // the pod as the effect writes it
	podCopy        model.Pod            // backing storage of effectPod for a Preempt
	plan           *decision.Preemption // of a Preempt; nil for a ClearNomination or when another process preempts
	effectID       uint64               // of the effect in flight; 0: none
	choice         int                  // number of the choice, from 1
	victimsSince   time.Time            // start of the victims' timeout
	deadline       time.Time
	unconfirmed    bool    // the effect has no outcome and may have been executed
	retryRequested bool    // the pod left the queue while the effect was in flight
	abandoned      bool    // the pod no longer needs the nomination; only its victims are tracked
	resize         *resize // the resize that the victims make room for; nil for the nomination of a pending pod
}

func (n *nomination) due() time.Time { return n.deadline }

func (n *nomination) podUID() string { return n.uid }

// phase is the state of a nomination.
type phase uint8

const (
	effectInFlight    phase = iota // the effect has no outcome yet
	effectUnanswered               // the effect timed out and is sent again at the deadline
	waitingForVictims              // the API has the nomination; the victims must be deleted by the deadline
	replanning                     // the Preempt failed; the pod is tried at the deadline, if there is one
)

// sendNomination sends a nomination's effect.
func (m *Machine) sendNomination(now time.Time, n *nomination) {
	n.effectID = m.emit(func(id uint64) Effect {
		if n.plan == nil {
			return ClearNomination{ID: id, Pod: n.effectPod}
		}
		return Preempt{ID: id, Pod: n.effectPod, Plan: n.plan, Choice: n.choice, Retry: n.unconfirmed, Resize: n.resize != nil}
	})
	m.nominationsByEffect[n.effectID] = n
	m.setPhase(n, effectInFlight, now.Add(m.cfg.BindTimeout))
}

func (m *Machine) setPhase(n *nomination, p phase, deadline time.Time) {
	n.phase, n.deadline = p, deadline
	if !deadline.IsZero() {
		m.deadlines.add(deadline, n)
	}
}

func (m *Machine) handleNominationOutcome(now time.Time, n *nomination, o Outcome) {
	delete(m.nominationsByEffect, n.effectID)
	n.effectID = 0
	switch {
	case n.abandoned:
		n.deadline = time.Time{}
		if o.Result != Done {
			m.unmarkVictims(now, n)
		}
	case n.resize != nil:
		m.handleResizeOutcome(now, n, o)
	case o.Result == Unknown:
		n.unconfirmed = true
		m.setPhase(n, effectUnanswered, now.Add(m.cfg.RetryInterval))
		if n.retryRequested {
			n.retryRequested = false
			m.activate(now, n.uid)
		}
	case n.plan == nil: // at worst the API keeps an obsolete nomination, which the next choice replaces
		m.setPhase(n, waitingForVictims, time.Time{})
		if n.apiNode == "" {
			delete(m.nominations, n.uid)
		}
	case o.Result == Done:
		n.victimsSince = now
		m.setPhase(n, waitingForVictims, now.Add(m.cfg.VictimsTimeout))
		if pod := m.state.Pod(n.uid); n.retryRequested || len(m.terminatingVictims(pod)) == 0 {
			m.activate(now, n.uid)
		}
	default:
		m.handlePreemptRefused(now, n, o)
	}
}

// handlePreemptRefused handles a Preempt that evicted nothing. After the first refusal by a budget, the
// machine selects victims again with the current budgets; this second choice overrules budgets. After
// any other refusal it selects victims once more without that node. A further refusal is an error and
// pauses preemption for the pod. After a Conflict, the machine selects victims again after
// Config.RetryInterval.
func (m *Machine) handlePreemptRefused(now time.Time, n *nomination, o Outcome) {
	m.unmarkVictims(now, n)
	for _, b := range o.Budgets {
		m.updateBudget(now, n, b)
	}
	pod := m.state.Pod(n.uid)
	switch {
	case o.Result == Conflict:
		m.setPhase(n, replanning, now.Add(m.cfg.RetryInterval))
	case n.choice == 1 && len(o.Budgets) > 0:
		n.choice = 2
		m.setPhase(n, replanning, time.Time{})
		m.activate(now, n.uid)
	case n.choice == 1 && m.preemptionFailures[n.uid] == nil:
		m.addPreemptionFailure(n, n.plan.Victims)
		m.setPhase(n, replanning, time.Time{})
		m.activate(now, n.uid)
	default:
		f := m.addPreemptionFailure(n, n.plan.Victims)
		f.pausedUntil = now.Add(m.cfg.BindTimeout)
		m.deadlines.add(f.pausedUntil, f)
		m.clearNomination(now, pod)
		m.reportUnschedulable(pod, 0, m.errorSummary("preemption on node \""+n.node+"\" was refused: "+o.Reason))
		if n.retryRequested {
			m.activate(now, n.uid)
		}
	}
}

// handleNominationTimeout handles a nomination whose deadline passed.
func (m *Machine) handleNominationTimeout(now time.Time, n *nomination) {
	n.deadline = time.Time{}
	switch {
	case n.effectID != 0:
		m.handleNominationOutcome(now, n, Outcome{Result: Unknown})
	case n.resize != nil:
		m.handleResizeTimeout(now, n)
	case m.attempts[n.uid] != nil: // extenders are being called
		m.setPhase(n, n.phase, now.Add(m.cfg.RetryInterval))
	case n.phase == replanning:
		m.activate(now, n.uid)
	case n.node == "":
		m.sendNomination(now, n)
	default:
		m.checkVictims(now, n)
	}
}

// checkVictims clears the nomination if its victims exceeded their timeout, so that victims are
// selected again. Before the timeout, it retries an unanswered effect.
func (m *Machine) checkVictims(now time.Time, n *nomination) {
	pod := m.state.Pod(n.uid)
	victims := m.terminatingVictims(pod)
	end := n.victimsSince.Add(m.victimsTimeout(victims))
	switch {
	case n.phase == waitingForVictims && len(victims) == 0: // the last one was just deleted
	case !now.Before(end):
		m.addPreemptionFailure(n, victims)
		m.clearNomination(now, pod)
		m.activate(now, n.uid)
	case n.phase == waitingForVictims:
		m.setPhase(n, waitingForVictims, end)
	default:
		m.resendNomination(now, n)
	}
}

// resendNomination retries an unanswered Preempt unless a budget no longer allows it.
func (m *Machine) resendNomination(now time.Time, n *nomination) {
	if b := m.exceededBudget(n); b != nil {
		m.handlePreemptRefused(now, n, Outcome{Result: Refused, Reason: "a disruption budget no longer allows it", Budgets: []*model.Budget{b}})
		return
	}
	m.sendNomination(now, n)
}

// exceededBudget returns a budget that no longer allows an unanswered Preempt, because too few
// pods would be healthy without its victims, or nil.
func (m *Machine) exceededBudget(n *nomination) *model.Budget {
	if displacement.Preemption.Policy().Overrules(n.choice) {
		return nil
	}
	for _, d := range n.plan.Debits {
		budgets := m.state.Budgets(d.Budget.Namespace)
		i := slices.IndexFunc(budgets, func(b *model.Budget) bool { return b.Name == d.Budget.Name })
		if i < 0 || len(d.Granted) == 0 {
			continue
		}
		var healthy int32 // marked victims are not counted
		for _, id := range m.state.NodeIDs() {
			healthy += budget.Ledger.CountHealthy(budgets[i], m.state.Node(id).Pods)
		}
		if healthy < budgets[i].DesiredHealthy {
			return budgets[i]
		}
	}
	return nil
}
