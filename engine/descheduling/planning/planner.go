package planning

import (
	"fmt"
	"slices"
	"time"

	"github.com/berthproject/berth/engine/cluster"
	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/descheduling"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/placement"
)

// Options are what a plan is made with.
type Options struct {
	Now  time.Time
	Mode Mode
	// SchedulersWithoutHolds are schedulers, by name, that heed no Holds, though Mode is Held: for their pods it is Unheld.
	SchedulersWithoutHolds map[string]bool
	// InProgress are moves of earlier plans: what they take is booked before anything else.
	InProgress []descheduling.InProgressMove
	// Profiles are those of the schedulers of the pods, by scheduler name; Seed chooses between equal nodes.
	Profiles map[string]*placement.Profile
	Seed     uint64
	// Backoff is of moves that were in vain; nil: there were none.
	Backoff *MoveBackoff
	// MaxRefusals is how many refusals are kept whole; 0: 1000.
	MaxRefusals int
}

// Planner is the Mover of planned mode, for one round. Make it with New. The State that it is given is
// forked, and must not change while it is used.
type Planner struct {
	o     Options
	nodes map[string]*descheduling.Node
	state *cluster.State // of the cluster
	fork  *cluster.State // with what is planned
	// forkWithoutHolds is the fork as schedulers see it that heed no Holds: it has none, and no node is closed. It is the fork itself if
	// all pods' schedulers are of one kind.
	forkWithoutHolds *cluster.State
	engines          map[string]*placement.Engine
	ledger           budgetLedger
	plan             Plan
	counts           [numRefusalReasons]int
	moved            map[string]bool // uids of pods that are planned to go
	excluded         map[string]bool // nodes that nothing moves to
	topEvaluations   int             // how often Top was asked
	summary          decision.Summary
}

// New begins a plan for what a snapshot shows; the State is that of the same moment.
func New(snap *descheduling.Snapshot, s *cluster.State, o Options) *Planner {
	if o.MaxRefusals == 0 {
		o.MaxRefusals = 1000
	}
	p := &Planner{o: o, state: s, fork: s.Fork(), nodes: make(map[string]*descheduling.Node, len(snap.Nodes)),
		engines: map[string]*placement.Engine{}, moved: map[string]bool{}, excluded: map[string]bool{}}
	for _, n := range snap.Nodes {
		p.nodes[n.Name] = n
	}
	p.fork.ExpireHolds(o.Now) // they may be there a little longer
	switch p.forkWithoutHolds = p.fork; {
	case o.Mode == WithoutHolds:
		dropHolds(p.fork)
	case len(o.SchedulersWithoutHolds) > 0:
		p.forkWithoutHolds = p.fork.Fork()
		dropHolds(p.forkWithoutHolds)
	}
	p.ledger = newBudgetLedger(s)
	for i := range o.InProgress {
		p.applyInProgress(&o.InProgress[i])
	}
	return p
}

// dropHolds makes a cluster one whose schedulers do not know of Holds.
func dropHolds(s *cluster.State) {
	s.RemoveHolds(func(*model.Hold) bool { return true })
}

// applyInProgress takes in a move that is under way. Its pod takes room as long as it is there, as to schedulers.
func (p *Planner) applyInProgress(u *descheduling.InProgressMove) {
	p.moved[u.Pod.UID] = true
	if u.Hold != nil { // the stand-in takes the room
		p.fork.RemoveHold(u.Hold.Namespace, u.Hold.Name)
	}
	if u.AwaitsReplacement() {
		p.upsertPod(ExpectedReplacement(u.Pod, u.To))
	}
	if is := p.state.Pod(u.Pod.UID); is != nil && !is.Deleting && u.To != "" {
		p.ledger.debitInProgress(p.o.Now, is)
	}
}

// upsertPod has a pod be on the forks, take has it be gone.
func (p *Planner) upsertPod(pod *model.Pod) {
	p.fork.UpsertPod(pod)
	if p.forkWithoutHolds != p.fork {
		p.forkWithoutHolds.UpsertPod(pod)
	}
}

func (p *Planner) removePod(uid string) {
	p.fork.RemovePod(uid)
	if p.forkWithoutHolds != p.fork {
		p.forkWithoutHolds.RemovePod(uid)
	}
}

// modeFor says whether a pod's place can be held.
func (p *Planner) modeFor(pod *model.Pod) Mode {
	if p.o.SchedulersWithoutHolds[pod.Spec.SchedulerName] {
		return WithoutHolds
	}
	return p.o.Mode
}

// forkFor is the fork as the scheduler of a pod sees it.
func (p *Planner) forkFor(pod *model.Pod) *cluster.State {
	if p.modeFor(pod) == WithoutHolds {
		return p.forkWithoutHolds
	}
	return p.fork
}

// Plan is what the round came to so far.
func (p *Planner) Plan() *Plan {
	out := p.plan
	out.Moves, out.Refused = slices.Clone(p.plan.Moves), slices.Clone(p.plan.Refused)
	for w, n := range p.counts {
		if n > 0 {
			out.Counts = append(out.Counts, RefusalCount{RefusalReason(w), n})
		}
	}
	return &out
}

// ChoosesNodes is rebalance.Mover's: it finds the places itself.
func (p *Planner) ChoosesNodes() bool { return true }

// Move is rebalance.Mover's.
func (p *Planner) Move(strategy, profile string, c *descheduling.Candidate) (*descheduling.Node, bool) {
	m := &Move{Pod: c.Pod.Pod, Details: c.Pod.Details, From: c.Node.Name, Strategy: strategy, Profile: profile, Mode: p.modeFor(c.Pod.Pod)}
	why, words := p.checkPod(m)
	if words == "" && (c.Cleanup || m.Pod.Finished()) {
		return p.cleanup(m, c)
	}
	if words == "" {
		why, words = p.checkReplacement(m)
	}
	if words != "" {
		p.refuse(m, why, words)
		return nil, false
	}
	p.removePod(m.Pod.UID)
	if why, words = p.chooseNode(m, c); words == "" {
		why, words = p.ledger.check(p.o.Now, m)
	}
	if words != "" {
		p.upsertPod(m.Pod)
		p.refuse(m, why, words)
		return nil, false
	}
	p.upsertPod(ExpectedReplacement(m.Pod, m.To))
	p.accept(m, c)
	return p.nodes[m.To], true
}

// LimitReached is rebalance.Limiter's.
func (p *Planner) LimitReached(strategy, profile string, c *descheduling.Candidate, o descheduling.Outcome) {
	p.refuse(&Move{Pod: c.Pod.Pod, From: c.Node.Name, Strategy: strategy, Profile: profile}, LimitReached, o.String())
}

// cleanup plans that a finished pod is removed.
func (p *Planner) cleanup(m *Move, c *descheduling.Candidate) (*descheduling.Node, bool) {
	p.accept(m, c)
	return nil, true
}

func (p *Planner) accept(m *Move, c *descheduling.Candidate) {
	p.ledger.debit(p.o.Now, m)
	if c.Reason != nil {
		m.Reason = c.Reason()
	}
	p.moved[m.Pod.UID], m.Emptied = true, m.Mode == WithHolds && p.excluded[m.From]
	p.plan.Moves = append(p.plan.Moves, m)
}

// Checkpoint is rebalance.Mover's: moves can be withdrawn.
func (p *Planner) Checkpoint() (restore func(), ok bool) {
	moves, was := len(p.plan.Moves), p.ledger.clone()
	return func() {
		undone := slices.Clone(p.plan.Moves[moves:])
		for _, m := range slices.Backward(undone) {
			if !m.Cleanup() {
				p.removePod(ExpectedReplacementUID(m.Pod))
				p.upsertPod(m.Pod)
			}
			delete(p.moved, m.Pod.UID)
		}
		p.plan.Moves = p.plan.Moves[:moves]
		p.ledger = was
		for _, m := range undone {
			p.refuse(m, GroupIncomplete, fmt.Sprintf("it could go to %s, but not all that were to go together can", m.To))
		}
	}, true
}

func (p *Planner) refuse(m *Move, why RefusalReason, words string) {
	p.counts[why]++
	if len(p.plan.Refused) < p.o.MaxRefusals {
		p.plan.Refused = append(p.plan.Refused, Refusal{Pod: m.Pod.Key(), Node: m.From, Strategy: m.Strategy, Profile: m.Profile, Reason: why, Message: words})
	}
}

// SetExcluded is rebalance.Closer's. Where no place is held the scheduler might choose the node all the same, so that it
// stays open: moves that would go there are refused for want of a gain.
func (p *Planner) SetExcluded(n *descheduling.Node, closed bool) {
	if p.o.Mode != WithHolds {
		return
	}
	if p.excluded[n.Name] = closed; !closed {
		delete(p.excluded, n.Name)
	}
	as := *n.Node
	as.Unschedulable = as.Unschedulable || closed
	p.fork.UpsertNode(&as)
}
