package scheduling

import (
	"slices"
	"time"

	"github.com/berthproject/berth/engine/budget"
	"github.com/berthproject/berth/engine/cluster"
	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/displace"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/queue"
)

// nominee is a pod about whose nomination something was decided that is not over: the
// API is yet to be told, or victims are still leaving. Until the API shows it, the
// state is told of the pod as if it did.
type nominee struct {
	uid, node string // node empty: the nomination is taken back
	phase     phase
	api       string               // the nomination as the API last showed it
	shown     *model.Pod           // the pod in the effect: as the API is to show it
	held      model.Pod            // shown, of a Preempt
	plan      *decision.Preemption // of a Preempt; nil for an Unnominate, and when another process preempts
	id        uint64               // of the effect under way; 0 when none is
	number    int                  // of the choice
	since     time.Time            // the victims' time counts from here
	deadline  time.Time
	doubt     bool // the effect had no answer, and may have been carried out
	knocked   bool // the pod came up while the effect was under way
	ended     bool // nobody waits any more; only what comes of the victims matters
}

func (n *nominee) due() time.Time { return n.deadline }
func (n *nominee) pod() string    { return n.uid }

// phase is how far a nominee has come.
type phase uint8

const (
	telling   phase = iota // the effect is under way
	tellAgain              // it had no answer, and is sent again at the deadline
	told                   // the API knows; at the deadline the victims should be gone
	planAgain              // nothing came of it; at the deadline, if there is one, the pod is tried
)

// tell sends the effect of a nominee.
func (m *Machine) tell(now time.Time, n *nominee) {
	n.id = m.emit(func(id uint64) Effect {
		if n.plan == nil {
			return Unnominate{ID: id, Pod: n.shown}
		}
		return Preempt{ID: id, Pod: n.shown, Plan: n.plan, Number: n.number, Again: n.doubt}
	})
	m.byNominee[n.id] = n
	m.waitFor(n, telling, now.Add(m.cfg.BindTimeout))
}

// waitFor moves a nominee to a phase.
func (m *Machine) waitFor(n *nominee, p phase, deadline time.Time) {
	n.phase, n.deadline = p, deadline
	if !deadline.IsZero() {
		m.deadlines.add(deadline, n)
	}
}

// nominated takes in the answer to a Preempt or Unnominate.
func (m *Machine) nominated(now time.Time, n *nominee, o Outcome) {
	delete(m.byNominee, n.id)
	n.id = 0
	switch {
	case n.ended:
		n.deadline = time.Time{}
		if o.Result != Done {
			m.spare(now, n)
		}
	case o.Result == Unknown:
		n.doubt = true
		m.waitFor(n, tellAgain, now.Add(m.cfg.LookAgain))
		if n.knocked {
			n.knocked = false
			m.activate(now, n.uid)
		}
	case n.plan == nil: // no worse than a nomination too many, which the next choice corrects
		m.waitFor(n, told, time.Time{})
		if n.api == "" {
			delete(m.nominees, n.uid)
		}
	case o.Result == Done:
		n.since = now
		m.waitFor(n, told, now.Add(m.cfg.VictimsTimeout))
		if pod := m.state.Pod(n.uid); n.knocked || len(m.victims(pod)) == 0 {
			m.activate(now, n.uid)
		}
	default:
		m.refused(now, n, o)
	}
}

// refused takes in that a Preempt drove nobody out. The first time that a budget did not
// allow it, the choice is made again on what the budgets are now; the second one
// goes past budgets. Where something else did not allow it, the choice is made again, once,
// without that node. Any other refusal is an error, and no other choice is made for a while. After a
// Conflict the pod is not as it was thought to be, and the choice is made again a little later.
func (m *Machine) refused(now time.Time, n *nominee, o Outcome) {
	m.spare(now, n)
	for _, b := range o.Budgets {
		m.learn(now, n, b)
	}
	pod := m.state.Pod(n.uid)
	switch {
	case o.Result == Conflict:
		m.waitFor(n, planAgain, now.Add(m.cfg.LookAgain))
	case n.number == 1 && len(o.Budgets) > 0:
		n.number = 2
		m.waitFor(n, planAgain, time.Time{})
		m.activate(now, n.uid)
	case n.number == 1 && m.forsaken[n.uid] == nil:
		m.forsake(n, n.plan.Victims)
		m.waitFor(n, planAgain, time.Time{})
		m.activate(now, n.uid)
	default:
		f := m.forsake(n, n.plan.Victims)
		f.rest = now.Add(m.cfg.BindTimeout)
		m.deadlines.add(f.rest, f)
		m.unnominate(now, pod)
		m.reject(pod, 0, m.errored("making room on node \""+n.node+"\" was refused: "+o.Why))
		if n.knocked {
			m.activate(now, n.uid)
		}
	}
}

// overdue acts on a nominee whose deadline has come.
func (m *Machine) overdue(now time.Time, n *nominee) {
	n.deadline = time.Time{}
	switch {
	case n.id != 0:
		m.nominated(now, n, Outcome{Result: Unknown})
	case m.byPod[n.uid] != nil: // extenders are being asked
		m.waitFor(n, n.phase, now.Add(m.cfg.LookAgain))
	case n.phase == planAgain:
		m.activate(now, n.uid)
	case n.node == "":
		m.tell(now, n)
	default:
		m.stillThere(now, n)
	}
}

// stillThere acts on a nominee that still waits. When its victims have had their time, the
// nomination is taken back, so that the pod chooses anew; until then what had no answer is
// asked again.
func (m *Machine) stillThere(now time.Time, n *nominee) {
	pod := m.state.Pod(n.uid)
	victims := m.victims(pod)
	end := n.since.Add(m.patience(victims))
	switch {
	case n.phase == told && len(victims) == 0: // they went just now
	case !now.Before(end):
		m.forsake(n, victims)
		m.unnominate(now, pod)
		m.activate(now, n.uid)
	case n.phase == told:
		m.waitFor(n, told, end)
	default:
		m.retell(now, n)
	}
}

// retell asks again for what had no answer, unless it would overdraw a budget by now.
func (m *Machine) retell(now time.Time, n *nominee) {
	if b := m.overdrawn(n); b != nil {
		m.refused(now, n, Outcome{Result: Refused, Why: "a disruption budget does not allow it any more", Budgets: []*model.Budget{b}})
		return
	}
	m.tell(now, n)
}

// overdrawn is a budget that does not allow any more what a Preempt that had no answer
// was to pay for: with its victims gone, too few pods would be healthy. Nil: there is none.
func (m *Machine) overdrawn(n *nominee) *model.Budget {
	if displace.Preemption.Policy().Overrules(n.number) {
		return nil
	}
	for _, d := range n.plan.Debits {
		budgets := m.state.Budgets(d.Budget.Namespace)
		i := slices.IndexFunc(budgets, func(b *model.Budget) bool { return b.Name == d.Budget.Name })
		if i < 0 || len(d.Paid) == 0 {
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

// unnominate takes a pod's nomination back, here at once.
func (m *Machine) unnominate(now time.Time, pod *model.Pod) {
	api := pod.Nominated
	if n := m.nominees[pod.UID]; n != nil {
		api = n.api
	}
	m.dropNominee(now, pod.UID)
	bare := pod.Unnominated()
	m.state.UpsertPod(bare)
	m.renominated(now, bare)
	if pod.Nominated != "" {
		m.freed(now, pod)
	}
	n := &nominee{uid: pod.UID, api: api, shown: bare}
	m.nominees[pod.UID] = n
	m.tell(now, n)
}

// endNominee forgets what was decided about making room for a pod, which is done with.
func (m *Machine) endNominee(now time.Time, uid string) {
	if f := m.forsaken[uid]; f != nil {
		delete(m.forsaken, uid)
		f.rest = time.Time{}
	}
	m.dropNominee(now, uid)
}

// dropNominee forgets what was decided about a pod's nomination. Victims of a Preempt
// that is under way are waited for all the same.
func (m *Machine) dropNominee(now time.Time, uid string) {
	n, ok := m.nominees[uid]
	if !ok {
		return
	}
	delete(m.nominees, uid)
	if n.id != 0 {
		n.ended = true
		return
	}
	n.deadline = time.Time{}
	if n.phase == tellAgain {
		m.spare(now, n)
	}
}

// shown is a reported pod with the nomination that was decided for it.
func (m *Machine) shown(now time.Time, p *model.Pod) *model.Pod {
	n, ok := m.nominees[p.UID]
	if !ok {
		return p
	}
	n.api = p.Nominated
	switch {
	case n.phase == told && n.node == "" && n.api == "":
		m.dropNominee(now, p.UID)
		return p
	case p.Nominated == n.node:
		return p
	}
	q := *p
	q.Nominated = n.node
	return &q
}

// outrank takes back the nominations to a pod's node of pods of lower priority: they
// are tried again.
func (m *Machine) outrank(now time.Time, pod *model.Pod) {
	id, ok := m.state.NodeID(pod.Nominated)
	if !ok {
		return
	}
	m.eachNominated(id, func(q *model.Pod) {
		if q.Spec.Priority < pod.Spec.Priority && !q.Phantom {
			m.unnominate(now, q)
			m.activate(now, q.UID)
		}
	})
}

// nodeGone takes back the nominations to a node that is gone. It must be called before
// the state forgets the node.
func (m *Machine) nodeGone(now time.Time, name string) {
	id, ok := m.state.NodeID(name)
	if !ok {
		return
	}
	m.eachNominated(id, func(q *model.Pod) {
		if !q.Phantom { // its Hold says so until it ends
			m.unnominate(now, q)
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
	if pod := m.state.Pod(uid); pod != nil && m.queue.Where(uid) == queue.InFlight {
		m.queue.Update(now, queued(pod), true)
	}
	m.queue.Activate(now, uid)
}
