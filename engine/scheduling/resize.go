package scheduling

import (
	"cmp"
	"slices"
	"time"

	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/displacement"
	"github.com/berthproject/berth/engine/model"
)

// resize is a pod that waits for a resize which its node has deferred. The machine evaluates it when the
// resize or its node changes, and preempts pods of lower priority on the node.
type resize struct {
	uid, node  string
	priority   int32
	due        bool        // it must be evaluated
	overdue    bool        // its victims exceeded their timeout: others are selected until a Preempt succeeds
	preemption *nomination // its Preempt in flight, or the victims that it waits for; nil if there are none
	rejection  string      // the last reported reasons
}

// resizePlanner is a Placer that preempts for resizes.
type resizePlanner interface {
	// PlanResize evaluates preemption for a pod with a deferred resize, see preemption.EvaluateResize.
	PlanResize(pod *model.Pod, awaitVictims bool) *decision.Summary
}

// DeferredResizes returns the number of pods with a deferred resize that the machine preempts for.
func (m *Machine) DeferredResizes() int { return len(m.resizes) }

// observeResize updates the deferred resizes after a change of a bound or deleted pod. Either version may be
// nil.
func (m *Machine) observeResize(now time.Time, old, p *model.Pod) {
	if !m.cfg.ResizePreemption {
		return
	}
	for _, v := range []*model.Pod{old, p} {
		if v != nil && changesUsage(old, p) {
			m.evaluateResizesFor(v)
		}
	}
	uid := cmp.Or(p, old).UID
	r := m.resizes[uid]
	if !m.awaitsResize(p) {
		m.endResize(now, r)
		return
	}
	if r == nil || r.node != p.NodeName {
		m.endResize(now, r)
		r = &resize{uid: uid, node: p.NodeName}
		m.resizes[uid] = r
		m.resizesByNode[r.node] = append(m.resizesByNode[r.node], r)
		m.evaluateResize(r)
	}
	r.priority = p.Spec.Priority
	if old == nil || old.Spec != p.Spec {
		m.evaluateResize(r)
	}
}

// awaitsResize reports whether the machine preempts for a resize of the pod.
func (m *Machine) awaitsResize(p *model.Pod) bool {
	return occupiesNode(p) && p.DeferredResize != nil && !p.Deleting && m.placers[p.Spec.SchedulerName] != nil
}

// changesUsage reports whether a change of a pod may change the result for resizes on its node.
func changesUsage(old, p *model.Pod) bool {
	return old == nil || p == nil || old.Spec != p.Spec || old.NodeName != p.NodeName || old.Finished() != p.Finished() || old.Deleting != p.Deleting ||
		(old.DeferredResize == nil) != (p.DeferredResize == nil)
}

// evaluateResize makes a resize due.
func (m *Machine) evaluateResize(r *resize) {
	if !r.due {
		r.due = true
		m.dueResizes = append(m.dueResizes, r)
	}
}

// evaluateResizes makes the resizes of a node due.
func (m *Machine) evaluateResizes(node string) {
	for _, r := range m.resizesByNode[node] {
		m.evaluateResize(r)
	}
}

// evaluateResizesFor makes the resizes due on the node of a pod and on the node to which it is nominated.
func (m *Machine) evaluateResizesFor(p *model.Pod) {
	m.evaluateResizes(p.NodeName)
	m.evaluateResizes(p.NominatedNodeName)
}

// endResize drops a resize that the pod no longer needs. Victims of a Preempt in flight stay marked.
func (m *Machine) endResize(now time.Time, r *resize) {
	if r == nil {
		return
	}
	delete(m.resizes, r.uid)
	m.dueResizes = slices.DeleteFunc(m.dueResizes, func(other *resize) bool { return other == r })
	m.resizesByNode[r.node] = slices.DeleteFunc(m.resizesByNode[r.node], func(other *resize) bool { return other == r })
	if len(m.resizesByNode[r.node]) == 0 {
		delete(m.resizesByNode, r.node)
	}
	if r.preemption != nil {
		m.abandon(now, r.preemption)
		r.preemption = nil
	}
}

// preemptForResize evaluates the due resize of the highest priority and acts on the result. It reports
// whether there was one.
func (m *Machine) preemptForResize(now time.Time) bool {
	if len(m.dueResizes) == 0 {
		return false
	}
	r := slices.MaxFunc(m.dueResizes, func(a, b *resize) int {
		return cmp.Or(cmp.Compare(a.priority, b.priority), cmp.Compare(b.uid, a.uid))
	})
	m.dueResizes = slices.DeleteFunc(m.dueResizes, func(other *resize) bool { return other == r })
	r.due = false
	pod := m.state.Pod(r.uid)
	if n := r.preemption; n != nil && (n.phase <= effectUnanswered || n.phase == replanning && !n.deadline.IsZero()) {
		return true // evaluated again after the outcome or the deadline
	}
	planner, ok := m.placers[pod.Spec.SchedulerName].(resizePlanner)
	if !ok {
		return true
	}
	s := planner.PlanResize(pod, !r.overdue)
	switch p := s.Preemption; p.Outcome {
	case decision.PreemptionNominated:
		r.rejection = ""
		if victims := m.unfinishedResize(pod); len(victims) > 0 {
			p = m.completePreemption(pod, pod.NodeName, victims)
		}
		m.sendResizePreemption(now, r, pod, p)
		return true
	case decision.PreemptionVictimsTerminating:
		if n := r.preemption; n == nil || n.phase == replanning { // they are victims of an earlier process, or of another pod
			m.awaitResizeVictims(now, r)
		}
		return true
	case decision.PreemptionNotNeeded, decision.PreemptionNotTried:
		r.rejection = ""
	default:
		m.reportResize(r, pod, s)
	}
	r.overdue = false
	if n := r.preemption; n != nil {
		r.preemption, n.deadline = nil, time.Time{}
	}
	return true
}

// unfinishedResize returns the victims that another process has marked for a preemption on the node of a pod but not
// evicted. It omits those of a nominated pod, which completes its own preemption.
func (m *Machine) unfinishedResize(pod *model.Pod) []*model.Pod {
	id, ok := m.state.NodeID(pod.NodeName)
	if !ok || len(m.state.Nominated(id)) > 0 {
		return nil
	}
	return m.markedOn(id, pod.Spec.Priority)
}

// sendResizePreemption evicts the victims of a resize.
func (m *Machine) sendResizePreemption(now time.Time, r *resize, pod *model.Pod, p *decision.Preemption) {
	n := &nomination{uid: r.uid, node: r.node, resize: r, choice: 1, victimsSince: now, effectPod: pod}
	if old := r.preemption; old != nil {
		if old.phase == replanning {
			n.choice = old.choice
		}
		old.deadline = time.Time{}
	}
	r.preemption = n
	n.plan = m.markVictims(now, n, pod, p)
	switch {
	case len(n.plan.Victims) > 0:
		m.sendNomination(now, n)
	case slices.ContainsFunc(p.Victims, displacement.Preemption.IsTerminating):
		m.awaitResizeVictims(now, r)
	default: // the victims were assumed pods without a Bind, which are back in the queue
		r.preemption = nil
		m.evaluateResize(r)
	}
}

// awaitResizeVictims waits for pods that terminate already.
func (m *Machine) awaitResizeVictims(now time.Time, r *resize) {
	r.preemption = &nomination{uid: r.uid, node: r.node, resize: r, victimsSince: now}
	m.setPhase(r.preemption, waitingForVictims, now.Add(m.cfg.VictimsTimeout))
}

// handleResizeOutcome handles the outcome of a Preempt for a resize. A first refusal by a budget selects
// victims again; the second choice overrules budgets. After another refusal the resize pauses.
func (m *Machine) handleResizeOutcome(now time.Time, n *nomination, o Outcome) {
	r := n.resize
	switch o.Result {
	case Unknown:
		n.unconfirmed = true
		m.setPhase(n, effectUnanswered, now.Add(m.cfg.RetryInterval))
		return
	case Done:
		n.victimsSince, r.overdue = now, false
		m.setPhase(n, waitingForVictims, now.Add(m.cfg.VictimsTimeout))
	default:
		m.unmarkVictims(now, n)
		for _, b := range o.Budgets {
			m.updateBudget(now, n, b)
		}
		switch {
		case o.Result == Conflict:
			m.setPhase(n, replanning, now.Add(m.cfg.RetryInterval))
		case n.choice == 1 && len(o.Budgets) > 0:
			n.choice = 2
			m.setPhase(n, replanning, time.Time{})
		default:
			m.setPhase(n, replanning, now.Add(m.cfg.BindTimeout))
			m.reportResize(r, m.state.Pod(r.uid), m.errorSummary("preemption on node \""+n.node+"\" was refused: "+o.Reason))
		}
	}
	m.evaluateResize(r)
}

// handleResizeTimeout handles the deadline of a Preempt for a resize, of its victims, or of a pause.
func (m *Machine) handleResizeTimeout(now time.Time, n *nomination) {
	r := n.resize
	victims := m.victimsOn(n.node, r.priority)
	end := n.victimsSince.Add(m.victimsTimeout(victims))
	switch {
	case n.phase == effectUnanswered:
		if b := m.exceededBudget(n); b != nil {
			m.handleResizeOutcome(now, n, Outcome{Result: Refused, Reason: "a disruption budget no longer allows it", Budgets: []*model.Budget{b}})
			return
		}
		m.sendNomination(now, n)
		return
	case n.phase == waitingForVictims && len(victims) > 0 && now.Before(end):
		m.setPhase(n, waitingForVictims, end)
		return
	case n.phase == waitingForVictims:
		r.overdue, r.preemption = len(victims) > 0, nil
	}
	m.evaluateResize(r)
}

// reportResize reports why no pod is preempted for a resize, if the reasons have changed.
func (m *Machine) reportResize(r *resize, pod *model.Pod, s *decision.Summary) {
	text, rows := s.Error, s.ReasonCounts
	if p := s.Preemption; p != nil {
		text, rows = text+p.Outcome.String()+p.Error, slices.Concat(rows, p.ReasonCounts)
	}
	for i := range rows {
		text += "," + rows[i].Reason.String()
	}
	if r.rejection == text {
		return
	}
	r.rejection = text
	m.emit(func(id uint64) Effect { return ReportDeferredResize{ID: id, Pod: pod, Summary: s} })
}
