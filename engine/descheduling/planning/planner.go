package planning

import (
	"fmt"
	"slices"
	"time"

	"github.com/berthproject/berth/engine/budget/ledger"
	"github.com/berthproject/berth/engine/cluster"
	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/descheduling"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/placement/fastpath"
	"github.com/berthproject/berth/engine/placement/framework"
)

// Options configure a Planner.
type Options struct {
	Now  time.Time
	Mode Mode
	// SchedulersWithoutHolds are the schedulers, by name, that ignore Holds although Mode is
	// WithHolds.
	SchedulersWithoutHolds map[string]bool
	// InProgress are the moves of earlier plans, applied before anything else.
	InProgress []descheduling.InProgressMove
	// Profiles are the scheduler profiles by scheduler name. Seed breaks ties between nodes of
	// equal score.
	Profiles map[string]*framework.Profile
	Seed     uint64
	// Backoff holds the failed moves, or is nil.
	Backoff *MoveBackoff
	// MaxRefusals is the number of refusals kept in full; 0 means 1000.
	MaxRefusals int
}

// Planner is the Mover of planned mode for one run. Create it with New. It forks the State,
// which must not change while the planner is used.
type Planner struct {
	o     Options
	nodes map[string]*descheduling.Node
	state *cluster.State // the cluster
	fork  *cluster.State // the cluster with the planned moves
	// forkWithoutHolds is the fork for schedulers that ignore Holds: it has no Holds and no
	// excluded nodes. It is fork itself if all schedulers have the same mode.
	forkWithoutHolds *cluster.State
	engines          map[string]*fastpath.Engine
	ledger           *ledger.Ledger
	plan             Plan
	counts           [numRefusalReasons]int
	moved            map[string]bool // UIDs of moved pods
	excluded         map[string]bool // nodes that nothing may move to
	topEvaluations   int             // number of TopNodes calls
	summary          decision.Summary
}

// New starts a plan for a snapshot; s must be the state of the same moment.
func New(snap *descheduling.Snapshot, s *cluster.State, o Options) *Planner {
	if o.MaxRefusals == 0 {
		o.MaxRefusals = 1000
	}
	p := &Planner{o: o, state: s, fork: s.Fork(), nodes: make(map[string]*descheduling.Node, len(snap.Nodes)),
		engines: map[string]*fastpath.Engine{}, moved: map[string]bool{}, excluded: map[string]bool{}}
	for _, n := range snap.Nodes {
		p.nodes[n.Name] = n
	}
	p.fork.ExpireHolds(o.Now) // expired Holds may still exist
	switch p.forkWithoutHolds = p.fork; {
	case o.Mode == WithoutHolds:
		removeHolds(p.fork)
	case len(o.SchedulersWithoutHolds) > 0:
		p.forkWithoutHolds = p.fork.Fork()
		removeHolds(p.forkWithoutHolds)
	}
	p.ledger = newLedger(s)
	for i := range o.InProgress {
		p.applyInProgress(&o.InProgress[i])
	}
	return p
}

func removeHolds(s *cluster.State) {
	s.RemoveHolds(func(*model.Hold) bool { return true })
}

// applyInProgress applies a move in progress. The moved pod still counts on its old node while the pod exists.
func (p *Planner) applyInProgress(m *descheduling.InProgressMove) {
	p.moved[m.Pod.UID] = true
	if m.Hold != nil { // the replacement takes the reserved capacity
		p.fork.RemoveHold(m.Hold.Namespace, m.Hold.Name)
	}
	if m.AwaitsReplacement() {
		p.upsertPod(ExpectedReplacement(m.Pod, m.To))
	}
	if current := p.state.Pod(m.Pod.UID); current != nil && !current.Deleting && m.To != "" {
		p.ledger.Debit(p.o.Now, current, ledger.Names(p.ledger.Covering(current)))
	}
}

// upsertPod adds or replaces a pod on all forks.
func (p *Planner) upsertPod(pod *model.Pod) {
	p.fork.UpsertPod(pod)
	if p.forkWithoutHolds != p.fork {
		p.forkWithoutHolds.UpsertPod(pod)
	}
}

// removePod removes a pod from all forks.
func (p *Planner) removePod(uid string) {
	p.fork.RemovePod(uid)
	if p.forkWithoutHolds != p.fork {
		p.forkWithoutHolds.RemovePod(uid)
	}
}

// modeFor returns the mode of a pod's scheduler.
func (p *Planner) modeFor(pod *model.Pod) Mode {
	if p.o.SchedulersWithoutHolds[pod.Spec.SchedulerName] {
		return WithoutHolds
	}
	return p.o.Mode
}

// forkFor returns the fork for the pod's scheduler.
func (p *Planner) forkFor(pod *model.Pod) *cluster.State {
	if p.modeFor(pod) == WithoutHolds {
		return p.forkWithoutHolds
	}
	return p.fork
}

// Plan returns the plan so far.
func (p *Planner) Plan() *Plan {
	out := p.plan
	out.Moves, out.Refused = slices.Clone(p.plan.Moves), slices.Clone(p.plan.Refused)
	for reason, n := range p.counts {
		if n > 0 {
			out.Counts = append(out.Counts, RefusalCount{RefusalReason(reason), n})
		}
	}
	return &out
}

// ChoosesNodes implements descheduling.Mover.
func (p *Planner) ChoosesNodes() bool { return true }

// Move implements descheduling.Mover.
func (p *Planner) Move(strategy, profile string, c *descheduling.Candidate) (*descheduling.Node, bool) {
	m := &Move{Pod: c.Pod.Pod, Details: c.Pod.Details, From: c.Node.Name, Strategy: strategy, Profile: profile, Mode: p.modeFor(c.Pod.Pod)}
	reason, message := p.checkPod(m)
	if message == "" && (c.Cleanup || m.Pod.Finished()) {
		return p.cleanup(m, c)
	}
	if message == "" {
		reason, message = p.checkReplacement(m)
	}
	if message != "" {
		p.refuse(m, reason, message)
		return nil, false
	}
	p.removePod(m.Pod.UID)
	if reason, message = p.chooseNode(m, c); message == "" {
		reason, message = p.checkBudgets(m)
	}
	if message != "" {
		p.upsertPod(m.Pod)
		p.refuse(m, reason, message)
		return nil, false
	}
	p.upsertPod(ExpectedReplacement(m.Pod, m.To))
	p.accept(m, c)
	return p.nodes[m.To], true
}

// LimitReached implements descheduling.LimitObserver.
func (p *Planner) LimitReached(strategy, profile string, c *descheduling.Candidate, o descheduling.Outcome) {
	p.refuse(&Move{Pod: c.Pod.Pod, From: c.Node.Name, Strategy: strategy, Profile: profile}, LimitReached, o.String())
}

// cleanup plans the deletion of a finished pod.
func (p *Planner) cleanup(m *Move, c *descheduling.Candidate) (*descheduling.Node, bool) {
	p.accept(m, c)
	return nil, true
}

func (p *Planner) accept(m *Move, c *descheduling.Candidate) {
	p.debit(p.o.Now, m)
	if c.Reason != nil {
		m.Reason = c.Reason()
	}
	p.moved[m.Pod.UID], m.Emptied = true, m.Mode == WithHolds && p.excluded[m.From]
	p.plan.Moves = append(p.plan.Moves, m)
}

// Checkpoint implements descheduling.Mover. restore withdraws the moves that Move has accepted since.
func (p *Planner) Checkpoint() (restore func(), ok bool) {
	moves, before := len(p.plan.Moves), p.ledger.Clone()
	return func() {
		withdrawn := slices.Clone(p.plan.Moves[moves:])
		for _, m := range slices.Backward(withdrawn) {
			if !m.Cleanup() {
				p.removePod(ExpectedReplacementUID(m.Pod))
				p.upsertPod(m.Pod)
			}
			delete(p.moved, m.Pod.UID)
		}
		p.plan.Moves = p.plan.Moves[:moves]
		p.ledger = before
		for _, m := range withdrawn {
			p.refuse(m, GroupIncomplete, fmt.Sprintf("it could move to %s, but its group cannot move completely", m.To))
		}
	}, true
}

func (p *Planner) refuse(m *Move, reason RefusalReason, message string) {
	p.counts[reason]++
	if len(p.plan.Refused) < p.o.MaxRefusals {
		p.plan.Refused = append(p.plan.Refused, Refusal{Pod: m.Pod.Key(), Node: m.From, Strategy: m.Strategy, Profile: m.Profile, Reason: reason, Message: message})
	}
}

// SetExcluded implements descheduling.NodeExcluder. Without Holds the scheduler might choose
// the node anyway, so it is not excluded, and moves to it are refused with NoGain.
func (p *Planner) SetExcluded(n *descheduling.Node, excluded bool) {
	if p.o.Mode != WithHolds {
		return
	}
	if p.excluded[n.Name] = excluded; !excluded {
		delete(p.excluded, n.Name)
	}
	cordoned := *n.Node
	cordoned.Unschedulable = cordoned.Unschedulable || excluded
	p.fork.UpsertNode(&cordoned)
}
