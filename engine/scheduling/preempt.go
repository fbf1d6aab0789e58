package scheduling

import (
	"slices"
	"time"

	"github.com/berthproject/berth/engine/cluster"
	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/displacement"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/queue"
	"github.com/berthproject/berth/engine/scheduling/profiles"
)

// handleInfeasible tries preemption for an infeasible pod and requeues it. rec is the record of the
// decision, if one was made. withoutHold means that rec ignores the pod's Holds.
func (m *Machine) handleInfeasible(now time.Time, info queue.QueuedPodInfo, pod *model.Pod, s *decision.Summary, rec *decision.Record, withoutHold bool) {
	placer := m.placers[pod.Spec.SchedulerName]
	explainer, _ := placer.(profiles.Explainer)
	callsExtenders := explainer != nil && m.profiles[pod.Spec.SchedulerName].CallsPreemptionExtenders(pod)
	if m.preemptionPaused(pod.UID) {
		m.requeueUnschedulable(now, info, pod, s)
		return
	}
	if s.Preemption = m.unfinishedPreemption(pod); s.Preemption != nil {
		m.requeueUnschedulable(now, info, pod, s)
		return
	}
	if rec == nil && !callsExtenders {
		s.Preemption = placer.Preempt(pod, s)
		if p := s.Preemption; explainer == nil || p == nil || p.Outcome != decision.PreemptionNominated || !m.preemptionFailed(pod.UID, p.Node) {
			m.requeueUnschedulable(now, info, pod, s)
			return
		}
	}
	if rec == nil {
		rec = explainer.Explain(pod)
	}
	var candidates []profiles.Candidate
	candidates, s.Preemption = m.findCandidates(pod, explainer, rec)
	if callsExtenders && s.Preemption.Outcome == decision.PreemptionNominated {
		m.callExtenders(now, pod, &extenderCall{attempt: info, record: rec, summary: s, withoutHold: withoutHold}, func(id uint64) Effect {
			return CallPreemptionExtenders{ID: id, Pod: pod, Candidates: candidates}
		})
		return
	}
	m.requeueUnschedulable(now, info, pod, s)
}

// requeueUnschedulable requeues an infeasible pod and acts on s.Preemption.
func (m *Machine) requeueUnschedulable(now time.Time, info queue.QueuedPodInfo, pod *model.Pod, s *decision.Summary) {
	rejectedBy := s.UnschedulablePlugins
	p := s.Preemption
	if p != nil && p.Outcome != decision.PreemptionNotTried && p.Outcome != decision.PreemptionPolicyNever {
		rejectedBy = rejectedBy.With(decision.DefaultPreemption)
	}
	if p != nil && (p.Outcome == decision.PreemptionNominated || p.Outcome == decision.PreemptionVictimsTerminating) {
		m.queue.EndTrial(info.UID) // the victims make room for this pod only
	}
	m.queue.RequeueUnschedulable(now, info.UID, rejectedBy)
	m.reportUnschedulable(pod, info.Attempts, s)
	switch {
	case p == nil:
	case p.Outcome == decision.PreemptionNominated:
		m.preempt(now, pod, p)
	case p.Outcome == decision.PreemptionVictimsTerminating:
		m.adoptPreemption(now, pod)
	case p.ClearNomination:
		m.clearNomination(now, pod)
	}
}

// unfinishedPreemption returns a preemption that another process started and did not complete: some
// victims have the condition DisruptionTarget but are not deleted. That condition is written to all
// victims before the first is deleted and after the budgets are debited. Budgets created since then
// are debited now.
func (m *Machine) unfinishedPreemption(pod *model.Pod) *decision.Preemption {
	id, ok := m.state.NodeID(pod.NominatedNodeName)
	if !ok || pod.Spec.NeverPreempts || m.nominations[pod.UID] != nil {
		return nil
	}
	victims := m.markedOn(id, pod.Spec.Priority)
	if len(victims) == 0 {
		return nil
	}
	return m.completePreemption(pod, pod.NominatedNodeName, victims)
}

// markedOn returns the pods below a priority that have the condition DisruptionTarget of preemption but are
// not deleted.
func (m *Machine) markedOn(id cluster.NodeID, priority int32) (victims []*model.Pod) {
	for _, v := range m.state.Node(id).Pods {
		if v.Spec.Priority < priority && v.DisruptionReason == displacement.Preemption.Reason() && !v.Deleting {
			victims = append(victims, v)
		}
	}
	return victims
}

// completePreemption returns the preemption of victims that another process has selected.
func (m *Machine) completePreemption(pod *model.Pod, node string, victims []*model.Pod) *decision.Preemption {
	p := &decision.Preemption{Outcome: decision.PreemptionNominated, Node: node, Victims: victims, Candidates: 1, Nodes: m.state.NumNodes()}
	if b, ok := m.placers[pod.Spec.SchedulerName].(debiter); ok {
		p.Debits = b.Debits(victims)
	}
	return p
}

// debiter is a Placer that returns the budget debits of given victims.
type debiter interface {
	Debits(victims []*model.Pod) []decision.Debit
}

// adoptPreemption sets the deadline for victims that terminate because of another process, an
// earlier run, or another pod.
func (m *Machine) adoptPreemption(now time.Time, pod *model.Pod) {
	n := m.nominations[pod.UID]
	switch {
	case pod.NominatedNodeName == "":
		return
	case n == nil:
		n = &nomination{uid: pod.UID, node: pod.NominatedNodeName, apiNode: pod.NominatedNodeName}
		m.nominations[pod.UID] = n
	case n.phase != replanning:
		return
	}
	n.victimsSince = now
	m.setPhase(n, waitingForVictims, now.Add(m.cfg.VictimsTimeout))
}

// preempt nominates a pod and evicts the victims. From then on the nomination reserves resources on the node.
func (m *Machine) preempt(now time.Time, pod *model.Pod, p *decision.Preemption) {
	n := &nomination{uid: pod.UID, node: p.Node, choice: 1, apiNode: pod.NominatedNodeName, victimsSince: now}
	if old := m.nominations[pod.UID]; old != nil {
		n.apiNode = old.apiNode
		if old.phase == replanning {
			n.choice = old.choice
		}
		m.dropNomination(now, pod.UID)
	}
	m.nominations[pod.UID] = n
	n.plan = m.markVictims(now, n, pod, p)
	n.podCopy = *pod
	n.podCopy.NominatedNodeName = p.Node
	n.effectPod = &n.podCopy
	m.state.UpsertPod(n.effectPod)
	m.updateNominated(now, n.effectPod)
	if pod.NominatedNodeName != "" && pod.NominatedNodeName != p.Node {
		m.notifyFreed(now, pod)
	}
	m.clearLowerNominations(now, n.effectPod)
	m.sendNomination(now, n)
}

// markVictims marks the victims as terminating. It returns the plan without victims that need no
// eviction: those already terminating, and assumed pods, which return to the queue.
func (m *Machine) markVictims(now time.Time, n *nomination, pod *model.Pod, p *decision.Preemption) *decision.Preemption {
	var excluded []*model.Pod // victims that need no eviction
	for _, v := range p.Victims {
		a := m.attempts[v.UID]
		switch {
		case displacement.Preemption.IsTerminating(v):
			excluded = append(excluded, v)
		case a != nil && a.stage.beforeBind():
			excluded = append(excluded, v)
			m.preemptAssumed(now, a, v, pod)
		default:
			m.markVictim(now, n, v)
		}
	}
	if len(excluded) == 0 {
		return p
	}
	out := *p
	out.Victims = nil
	for _, v := range p.Victims {
		if !slices.Contains(excluded, v) {
			out.Victims = append(out.Victims, v)
		}
	}
	out.Debits = displacement.FilterDebits(p.Debits, out.Victims)
	return &out
}

// preemptAssumed aborts the attempt of an assumed pod without a Bind, in favor of another pod.
func (m *Machine) preemptAssumed(now time.Time, a *attempt, victim, pod *model.Pod) {
	m.endAttempt(a.uid)
	m.forgetAssumed(now, a.uid)
	m.queue.RequeueUnschedulable(now, a.uid, 0)
	text := "preempted by pod " + pod.Key() + " before it was bound to node " + victim.NodeName
	m.reportUnschedulable(m.state.Pod(a.uid), a.number, &decision.Summary{Outcome: decision.Infeasible, Nodes: m.state.NumNodes(), Revision: m.state.Revision(),
		Verdict: &decision.Verdict{Plugin: decision.DefaultPreemption, Code: decision.Unschedulable,
			Reasons: []decision.Reason{{Kind: decision.ReasonText, Subject: text, Object: pod.Key()}}}})
	m.requeue(now, m.state.Pod(a.uid))
}

// preemptInFlight reports whether a Preempt for the pod is in flight. If so the pod is not
// scheduled, because the state it would be scheduled on is uncertain.
func (m *Machine) preemptInFlight(uid string) bool {
	n, ok := m.nominations[uid]
	if !ok || n.node == "" || n.phase != effectInFlight {
		return false
	}
	n.retryRequested = true
	return true
}
