package scheduling

import (
	"slices"
	"time"

	"github.com/berthproject/berth/engine/budget"
	"github.com/berthproject/berth/engine/cluster"
	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/displacement"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/queue"
)

// nomination is a pod about whose nomination something was decided that is not over: the
// API is yet to be told, or victims are still leaving. Until the API shows it, the
// state is told of the pod as if it did.
type nomination struct {
	uid, node      string // node empty: the nomination is taken back
	phase          phase
	apiNode        string               // the nomination as the API last showed it
	effectPod      *model.Pod           // the pod in the effect: as the API is to show it
	podCopy        model.Pod            // shown, of a Preempt
	plan           *decision.Preemption // of a Preempt; nil for an Unnominate, and when another process preempts
	effectID       uint64               // of the effect under way; 0 when none is
	choice         int                  // of the choice
	victimsSince   time.Time            // the victims' time counts from here
	deadline       time.Time
	unconfirmed    bool // the effect had no answer, and may have been carried out
	retryRequested bool // the pod came up while the effect was under way
	abandoned      bool // nobody waits any more; only what comes of the victims matters
}

func (n *nomination) due() time.Time { return n.deadline }
func (n *nomination) pod() string    { return n.uid }

// phase is how far a nominee has come.
type phase uint8

const (
	effectInFlight    phase = iota // the effect is under way
	effectUnanswered               // it had no answer, and is sent again at the deadline
	waitingForVictims              // the API knows; at the deadline the victims should be gone
	replanning                     // nothing came of it; at the deadline, if there is one, the pod is tried
)

// sendNomination sends the effect of a nominee.
func (m *Machine) sendNomination(now time.Time, n *nomination) {
	n.effectID = m.emit(func(id uint64) Effect {
		if n.plan == nil {
			return ClearNomination{ID: id, Pod: n.effectPod}
		}
		return Preempt{ID: id, Pod: n.effectPod, Plan: n.plan, Choice: n.choice, Retry: n.unconfirmed}
	})
	m.nominationsByEffect[n.effectID] = n
	m.setPhase(n, effectInFlight, now.Add(m.cfg.BindTimeout))
}

// setPhase moves a nominee to a phase.
func (m *Machine) setPhase(n *nomination, p phase, deadline time.Time) {
	n.phase, n.deadline = p, deadline
	if !deadline.IsZero() {
		m.deadlines.add(deadline, n)
	}
}

// handleNominationOutcome takes in the answer to a Preempt or Unnominate.
func (m *Machine) handleNominationOutcome(now time.Time, n *nomination, o Outcome) {
	delete(m.nominationsByEffect, n.effectID)
	n.effectID = 0
	switch {
	case n.abandoned:
		n.deadline = time.Time{}
		if o.Result != Done {
			m.unmarkVictims(now, n)
		}
	case o.Result == Unknown:
		n.unconfirmed = true
		m.setPhase(n, effectUnanswered, now.Add(m.cfg.RetryInterval))
		if n.retryRequested {
			n.retryRequested = false
			m.activate(now, n.uid)
		}
	case n.plan == nil: // no worse than a nomination too many, which the next choice corrects
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

// handlePreemptRefused takes in that a Preempt drove nobody out. The first time that a budget did not
// allow it, the choice is made again on what the budgets are now; the second one
// goes past budgets. Where something else did not allow it, the choice is made again, once,
// without that node. Any other refusal is an error, and no other choice is made for a while. After a
// Conflict the pod is not as it was thought to be, and the choice is made again a little later.
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
	case n.choice == 1 && m.failedNodes[n.uid] == nil:
		m.addFailedNode(n, n.plan.Victims)
		m.setPhase(n, replanning, time.Time{})
		m.activate(now, n.uid)
	default:
		f := m.addFailedNode(n, n.plan.Victims)
		f.pausedUntil = now.Add(m.cfg.BindTimeout)
		m.deadlines.add(f.pausedUntil, f)
		m.clearNomination(now, pod)
		m.reportUnschedulable(pod, 0, m.errorSummary("making room on node \""+n.node+"\" was refused: "+o.Reason))
		if n.retryRequested {
			m.activate(now, n.uid)
		}
	}
}

// handleNominationTimeout acts on a nominee whose deadline has come.
func (m *Machine) handleNominationTimeout(now time.Time, n *nomination) {
	n.deadline = time.Time{}
	switch {
	case n.effectID != 0:
		m.handleNominationOutcome(now, n, Outcome{Result: Unknown})
	case m.attempts[n.uid] != nil: // extenders are being asked
		m.setPhase(n, n.phase, now.Add(m.cfg.RetryInterval))
	case n.phase == replanning:
		m.activate(now, n.uid)
	case n.node == "":
		m.sendNomination(now, n)
	default:
		m.checkVictims(now, n)
	}
}

// checkVictims acts on a nominee that still waits. When its victims have had their time, the
// nomination is taken back, so that the pod chooses anew; until then what had no answer is
// asked again.
func (m *Machine) checkVictims(now time.Time, n *nomination) {
	pod := m.state.Pod(n.uid)
	victims := m.terminatingVictims(pod)
	end := n.victimsSince.Add(m.victimsTimeout(victims))
	switch {
	case n.phase == waitingForVictims && len(victims) == 0: // they went just now
	case !now.Before(end):
		m.addFailedNode(n, victims)
		m.clearNomination(now, pod)
		m.activate(now, n.uid)
	case n.phase == waitingForVictims:
		m.setPhase(n, waitingForVictims, end)
	default:
		m.resendNomination(now, n)
	}
}

// resendNomination asks again for what had no answer, unless it would overdraw a budget by now.
func (m *Machine) resendNomination(now time.Time, n *nomination) {
	if b := m.overdrawnBudget(n); b != nil {
		m.handlePreemptRefused(now, n, Outcome{Result: Refused, Reason: "a disruption budget does not allow it any more", Budgets: []*model.Budget{b}})
		return
	}
	m.sendNomination(now, n)
}

// overdrawnBudget is a budget that does not allow any more what a Preempt that had no answer
// was to pay for: with its victims gone, too few pods would be healthy. Nil: there is none.
func (m *Machine) overdrawnBudget(n *nomination) *model.Budget {
	if displacement.Preemption.Policy().Overrules(n.choice) {
		return nil
	}
	for _, d := range n.plan.Debits {
		budgets := m.state.Budgets(d.Budget.Namespace)
		i := slices.IndexFunc(budgets, func(b *model.Budget) bool { return b.Name == d.Budget.Name })
		if i < 0 || len(d.Granted) == 0 {
			continue
		}
		var healthy int32 // the victims are marked, and not counted
		for _, id := range m.state.NodeIDs() {
			healthy += budget.Ledger.CountHealthy(budgets[i], m.state.Node(id).Pods)
		}
		if healthy < budgets[i].DesiredHealthy {
			return budgets[i]
		}
	}
	return nil
}

// clearNomination takes a pod's nomination back, here at once.
func (m *Machine) clearNomination(now time.Time, pod *model.Pod) {
	api := pod.NominatedNodeName
	if n := m.nominations[pod.UID]; n != nil {
		api = n.apiNode
	}
	m.dropNomination(now, pod.UID)
	bare := pod.WithoutNomination()
	m.state.UpsertPod(bare)
	m.updateNominated(now, bare)
	if pod.NominatedNodeName != "" {
		m.notifyFreed(now, pod)
	}
	n := &nomination{uid: pod.UID, apiNode: api, effectPod: bare}
	m.nominations[pod.UID] = n
	m.sendNomination(now, n)
}

// endNomination forgets what was decided about making room for a pod, which is done with.
func (m *Machine) endNomination(now time.Time, uid string) {
	if f := m.failedNodes[uid]; f != nil {
		delete(m.failedNodes, uid)
		f.pausedUntil = time.Time{}
	}
	m.dropNomination(now, uid)
}

// dropNomination forgets what was decided about a pod's nomination. Victims of a Preempt
// that is under way are waited for all the same.
func (m *Machine) dropNomination(now time.Time, uid string) {
	n, ok := m.nominations[uid]
	if !ok {
		return
	}
	delete(m.nominations, uid)
	if n.effectID != 0 {
		n.abandoned = true
		return
	}
	n.deadline = time.Time{}
	if n.phase == effectUnanswered {
		m.unmarkVictims(now, n)
	}
}

// withNomination is a reported pod with the nomination that was decided for it.
func (m *Machine) withNomination(now time.Time, p *model.Pod) *model.Pod {
	n, ok := m.nominations[p.UID]
	if !ok {
		return p
	}
	n.apiNode = p.NominatedNodeName
	switch {
	case n.phase == waitingForVictims && n.node == "" && n.apiNode == "":
		m.dropNomination(now, p.UID)
		return p
	case p.NominatedNodeName == n.node:
		return p
	}
	q := *p
	q.NominatedNodeName = n.node
	return &q
}

// clearLowerNominations takes back the nominations to a pod's node of pods of lower priority: they
// are tried again.
func (m *Machine) clearLowerNominations(now time.Time, pod *model.Pod) {
	id, ok := m.state.NodeID(pod.NominatedNodeName)
	if !ok {
		return
	}
	m.eachNominated(id, func(q *model.Pod) {
		if q.Spec.Priority < pod.Spec.Priority && !q.Placeholder {
			m.clearNomination(now, q)
			m.activate(now, q.UID)
		}
	})
}

// clearNodeNominations takes back the nominations to a node that is gone. It must be called before
// the state forgets the node.
func (m *Machine) clearNodeNominations(now time.Time, name string) {
	id, ok := m.state.NodeID(name)
	if !ok {
		return
	}
	m.eachNominated(id, func(q *model.Pod) {
		if !q.Placeholder { // its Hold says so until it ends
			m.clearNomination(now, q)
			m.activate(now, q.UID)
		}
	})
}

// eachNominated calls f, which may change nominations, for those that a node has now.
func (m *Machine) eachNominated(id cluster.NodeID, f func(*model.Pod)) {
	list := append(m.scratch, m.state.Nominated(id)...)
	m.scratch = nil // for the case that f comes here, too
	for _, q := range list {
		f(q)
	}
	clear(list)
	m.scratch = list[:0]
}

// activate has a waiting pod tried at once.
func (m *Machine) activate(now time.Time, uid string) {
	if pod := m.state.Pod(uid); pod != nil && m.queue.PoolOf(uid) == queue.InFlight {
		m.queue.Update(now, queuePod(pod), true)
	}
	m.queue.Activate(now, uid)
}
