package scheduling

import (
	"slices"
	"time"

	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/displace"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/queue"
)

// infeasible gives a pod back to the queue that no node can take, after a look at
// whether the leaving of others would make room. rec is the record of that decision; nil:
// nobody needed one so far. passed: it is without what is held for the pod (surveyPast).
func (m *Machine) infeasible(now time.Time, a queue.Attempt, pod *model.Pod, s *decision.Summary, rec *decision.Record, passed bool) {
	placer := m.placers[pod.Spec.SchedulerName]
	surveyor, _ := placer.(Surveyor)
	asks := surveyor != nil && m.profiles[pod.Spec.SchedulerName].asksVictims(pod)
	if m.rests(pod.UID) {
		m.rejected(now, a, pod, s)
		return
	}
	if s.Preemption = m.unfinished(pod); s.Preemption != nil {
		m.rejected(now, a, pod, s)
		return
	}
	if rec == nil && !asks {
		s.Preemption = placer.Preempt(pod, s)
		if p := s.Preemption; surveyor == nil || p == nil || p.Tried != decision.Nominated || !m.shuns(pod.UID, p.Node) {
			m.rejected(now, a, pod, s)
			return
		}
	}
	if rec == nil {
		rec = surveyor.Survey(pod)
	}
	var candidates []Candidate
	candidates, s.Preemption = m.candidates(pod, surveyor, rec)
	if asks && s.Preemption.Tried == decision.Nominated {
		m.ask(now, pod, &asked{queue: a, rec: rec, summary: s, passed: passed}, func(id uint64) Effect {
			return AskVictims{ID: id, Pod: pod, Candidates: candidates}
		})
		return
	}
	m.rejected(now, a, pod, s)
}

// rejected gives a pod back to the queue for which s.Preemption was tried, and acts on
// what came of that.
func (m *Machine) rejected(now time.Time, a queue.Attempt, pod *model.Pod, s *decision.Summary) {
	rules := s.Rejectors
	p := s.Preemption
	if p != nil && p.Tried != decision.NotTried && p.Tried != decision.NeverMay {
		rules = rules.With(decision.DefaultPreemption)
	}
	if p != nil && (p.Tried == decision.Nominated || p.Tried == decision.WaitsFor) {
		m.queue.Alone(a.UID) // room is made for it; others like it may have the same chance
	}
	m.queue.Reject(now, a.UID, rules)
	m.reject(pod, a.Number, s)
	switch {
	case p == nil:
	case p.Tried == decision.Nominated:
		m.preempt(now, pod, p)
	case p.Tried == decision.WaitsFor:
		m.takeOver(now, pod)
	case p.Clears:
		m.unnominate(now, pod)
	}
}

// unfinished is the choice that another process made for a pod and did not carry out to its
// end: victims are marked, which happens to all of them before the first is deleted, and
// after the budgets were debited. A budget made since then gets its entries now.
func (m *Machine) unfinished(pod *model.Pod) *decision.Preemption {
	id, ok := m.state.NodeID(pod.Nominated)
	if !ok || pod.Spec.NeverPreempts || m.nominees[pod.UID] != nil {
		return nil
	}
	p := &decision.Preemption{Tried: decision.Nominated, Node: pod.Nominated, Candidates: 1, Nodes: m.state.NumNodes()}
	for _, v := range m.state.Node(id).Pods {
		if v.Spec.Priority < pod.Spec.Priority && v.Disrupted == displace.Preemption.Reason() && !v.Deleting {
			p.Victims = append(p.Victims, v)
		}
	}
	if len(p.Victims) == 0 {
		return nil
	}
	if b, ok := m.placers[pod.Spec.SchedulerName].(booker); ok {
		p.Debits = b.Debits(p.Victims)
	}
	return p
}

// booker is a Placer that says what victims take from budgets.
type booker interface {
	Debits(victims []*model.Pod) []decision.Debit
}

// takeOver sets the deadline for victims that another process drives out, or drove
// out before a restart, or that leave for another pod's sake where a choice of this one was refused.
func (m *Machine) takeOver(now time.Time, pod *model.Pod) {
	n := m.nominees[pod.UID]
	switch {
	case pod.Nominated == "":
		return
	case n == nil:
		n = &nominee{uid: pod.UID, node: pod.Nominated, api: pod.Nominated}
		m.nominees[pod.UID] = n
	case n.phase != planAgain:
		return
	}
	n.since = now
	m.waitFor(n, told, now.Add(m.cfg.VictimsTimeout))
}

// preempt nominates a pod and drives the victims out. From here on its room is held.
func (m *Machine) preempt(now time.Time, pod *model.Pod, p *decision.Preemption) {
	n := &nominee{uid: pod.UID, node: p.Node, number: 1, api: pod.Nominated, since: now}
	if old := m.nominees[pod.UID]; old != nil {
		n.api = old.api
		if old.phase == planAgain {
			n.number = old.number
		}
		m.dropNominee(now, pod.UID)
	}
	m.nominees[pod.UID] = n
	n.plan = m.driveOut(now, n, pod, p)
	n.held = *pod
	n.held.Nominated = p.Node
	n.shown = &n.held
	m.state.UpsertPod(n.shown)
	m.renominated(now, n.shown)
	if pod.Nominated != "" && pod.Nominated != p.Node {
		m.freed(now, pod)
	}
	m.outrank(now, n.shown)
	m.tell(now, n)
}

// driveOut marks the victims in the state, so that nobody counts on them any more, and
// returns the plan without those who need no driving: who is leaving already, and who
// is only assumed and goes back to the queue.
func (m *Machine) driveOut(now time.Time, n *nominee, pod *model.Pod, p *decision.Preemption) *decision.Preemption {
	var without []*model.Pod // those who need none
	for _, v := range p.Victims {
		a := m.byPod[v.UID]
		switch {
		case displace.Preemption.Drives(v):
			without = append(without, v)
		case a != nil && a.stage.unsent():
			without = append(without, v)
			m.takeBack(now, a, v, pod)
		default:
			m.mark(now, n, v)
		}
	}
	if len(without) == 0 {
		return p
	}
	out := *p
	out.Victims = nil
	for _, v := range p.Victims {
		if !slices.Contains(without, v) {
			out.Victims = append(out.Victims, v)
		}
	}
	out.Debits = displace.Only(p.Debits, out.Victims)
	return &out
}

// takeBack ends an attempt that nobody else knows of, in favour of another pod.
func (m *Machine) takeBack(now time.Time, a *attempt, victim, pod *model.Pod) {
	m.over(a.uid)
	m.forget(now, a.uid)
	m.queue.Reject(now, a.uid, 0)
	text := "preempted by pod " + pod.Key() + " before it was bound to node " + victim.NodeName
	m.reject(m.state.Pod(a.uid), a.number, &decision.Summary{Outcome: decision.Infeasible, Nodes: m.state.NumNodes(), Revision: m.state.Revision(),
		Verdict: &decision.Verdict{Rule: decision.DefaultPreemption, Code: decision.Unschedulable,
			Reasons: []decision.Reason{{Why: decision.WhyText, Subject: text, Who: pod.Key()}}}})
	m.requeue(now, m.state.Pod(a.uid))
}

// unsettled says whether a Preempt for the pod is under way. Then it is not
// tried: what it would be tried on is not known.
func (m *Machine) unsettled(uid string) bool {
	n, ok := m.nominees[uid]
	if !ok || n.node == "" || n.phase != telling {
		return false
	}
	n.knocked = true
	return true
}
