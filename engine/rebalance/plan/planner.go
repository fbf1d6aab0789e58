package plan

import (
	"fmt"
	"slices"
	"time"

	"github.com/berthproject/berth/engine/cluster"
	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/placement"
	"github.com/berthproject/berth/engine/rebalance"
)

// Options are what a plan is made with.
type Options struct {
	Now  time.Time
	Mode Mode
	// Others are schedulers, by name, that heed no Holds, though Mode is Held: for their pods it is Unheld.
	Others map[string]bool
	// UnderWay are moves of earlier plans: what they take is booked before anything else.
	UnderWay []rebalance.UnderWay
	// Profiles are those of the schedulers of the pods, by scheduler name; Seed chooses between equal nodes.
	Profiles map[string]*placement.Profile
	Seed     uint64
	// Memory is of moves that were in vain; nil: there were none.
	Memory *Memory
	// Keep is how many refusals are kept whole; 0: 1000.
	Keep int
}

// Planner is the Mover of planned mode, for one round. Make it with New. The State that it is given is
// forked, and must not change while it is used.
type Planner struct {
	o     Options
	nodes map[string]*rebalance.Node
	state *cluster.State // of the cluster
	fork  *cluster.State // with what is planned
	// free is the fork as schedulers see it that heed no Holds: it has none, and no node is closed. It is the fork itself if
	// all pods' schedulers are of one kind.
	free    *cluster.State
	engines map[string]*placement.Engine
	books   books
	plan    Plan
	counts  [numWhys]int
	moved   map[string]bool // uids of pods that are planned to go
	closed  map[string]bool // nodes that nothing moves to
	tops    int             // how often Top was asked
	summary decision.Summary
}

// New begins a plan for what a snapshot shows; the State is that of the same moment.
func New(snap *rebalance.Snapshot, s *cluster.State, o Options) *Planner {
	if o.Keep == 0 {
		o.Keep = 1000
	}
	p := &Planner{o: o, state: s, fork: s.Fork(), nodes: make(map[string]*rebalance.Node, len(snap.Nodes)),
		engines: map[string]*placement.Engine{}, moved: map[string]bool{}, closed: map[string]bool{}}
	for _, n := range snap.Nodes {
		p.nodes[n.Name] = n
	}
	p.fork.ExpireHolds(o.Now) // they may be there a little longer
	switch p.free = p.fork; {
	case o.Mode == Unheld:
		dropHolds(p.fork)
	case len(o.Others) > 0:
		p.free = p.fork.Fork()
		dropHolds(p.free)
	}
	p.books = openBooks(s)
	for i := range o.UnderWay {
		p.book(&o.UnderWay[i])
	}
	return p
}

// dropHolds makes a cluster one whose schedulers do not know of Holds.
func dropHolds(s *cluster.State) {
	s.RemoveHolds(func(*model.Hold) bool { return true })
}

// book takes in a move that is under way. Its pod takes room as long as it is there, as to schedulers.
func (p *Planner) book(u *rebalance.UnderWay) {
	p.moved[u.Pod.UID] = true
	if u.Hold != nil { // the stand-in takes the room
		p.fork.RemoveHold(u.Hold.Namespace, u.Hold.Name)
	}
	if u.Coming() {
		p.put(StandIn(u.Pod, u.To))
	}
	if is := p.state.Pod(u.Pod.UID); is != nil && !is.Deleting && u.To != "" {
		p.books.owe(p.o.Now, is)
	}
}

// put has a pod be on the forks, take has it be gone.
func (p *Planner) put(pod *model.Pod) {
	p.fork.UpsertPod(pod)
	if p.free != p.fork {
		p.free.UpsertPod(pod)
	}
}

func (p *Planner) take(uid string) {
	p.fork.RemovePod(uid)
	if p.free != p.fork {
		p.free.RemovePod(uid)
	}
}

// mode says whether a pod's place can be held.
func (p *Planner) mode(pod *model.Pod) Mode {
	if p.o.Others[pod.Spec.SchedulerName] {
		return Unheld
	}
	return p.o.Mode
}

// seen is the fork as the scheduler of a pod sees it.
func (p *Planner) seen(pod *model.Pod) *cluster.State {
	if p.mode(pod) == Unheld {
		return p.free
	}
	return p.fork
}

// Plan is what the round came to so far.
func (p *Planner) Plan() *Plan {
	out := p.plan
	out.Moves, out.Refused = slices.Clone(p.plan.Moves), slices.Clone(p.plan.Refused)
	for w, n := range p.counts {
		if n > 0 {
			out.Counts = append(out.Counts, Count{Why(w), n})
		}
	}
	return &out
}

// Places is rebalance.Mover's: it finds the places itself.
func (p *Planner) Places() bool { return true }

// Move is rebalance.Mover's.
func (p *Planner) Move(strategy, profile string, c *rebalance.Candidate) (*rebalance.Node, bool) {
	m := &Move{Pod: c.Pod.Pod, Facts: c.Pod.Facts, From: c.Node.Name, Strategy: strategy, Profile: profile, Mode: p.mode(c.Pod.Pod)}
	why, words := p.barred(m)
	if words == "" && (c.Cleanup || m.Pod.Finished()) {
		return p.cleanup(m, c)
	}
	if words == "" {
		why, words = p.unplaceable(m)
	}
	if words != "" {
		p.refuse(m, why, words)
		return nil, false
	}
	p.take(m.Pod.UID)
	if why, words = p.place(m, c); words == "" {
		why, words = p.books.ask(p.o.Now, m)
	}
	if words != "" {
		p.put(m.Pod)
		p.refuse(m, why, words)
		return nil, false
	}
	p.put(StandIn(m.Pod, m.To))
	p.accept(m, c)
	return p.nodes[m.To], true
}

// Limited is rebalance.Limiter's.
func (p *Planner) Limited(strategy, profile string, c *rebalance.Candidate, o rebalance.Outcome) {
	p.refuse(&Move{Pod: c.Pod.Pod, From: c.Node.Name, Strategy: strategy, Profile: profile}, Limited, o.String())
}

// cleanup plans that a finished pod is removed.
func (p *Planner) cleanup(m *Move, c *rebalance.Candidate) (*rebalance.Node, bool) {
	p.accept(m, c)
	return nil, true
}

func (p *Planner) accept(m *Move, c *rebalance.Candidate) {
	p.books.pay(p.o.Now, m)
	if c.Reason != nil {
		m.Reason = c.Reason()
	}
	p.moved[m.Pod.UID], m.Emptied = true, m.Mode == Held && p.closed[m.From]
	p.plan.Moves = append(p.plan.Moves, m)
}

// Save is rebalance.Mover's: moves can be withdrawn.
func (p *Planner) Save() (restore func(), ok bool) {
	moves, was := len(p.plan.Moves), p.books.save()
	return func() {
		undone := slices.Clone(p.plan.Moves[moves:])
		for _, m := range slices.Backward(undone) {
			if !m.Cleanup() {
				p.take(StandInUID(m.Pod))
				p.put(m.Pod)
			}
			delete(p.moved, m.Pod.UID)
		}
		p.plan.Moves = p.plan.Moves[:moves]
		p.books = was
		for _, m := range undone {
			p.refuse(m, Undone, fmt.Sprintf("it could go to %s, but not all that were to go together can", m.To))
		}
	}, true
}

func (p *Planner) refuse(m *Move, why Why, words string) {
	p.counts[why]++
	if len(p.plan.Refused) < p.o.Keep {
		p.plan.Refused = append(p.plan.Refused, Refusal{Pod: m.Pod.Key(), Node: m.From, Strategy: m.Strategy, Profile: m.Profile, Why: why, Words: words})
	}
}

// Close is rebalance.Closer's. Where no place is held the scheduler might choose the node all the same, so that it
// stays open: moves that would go there are refused for want of a gain.
func (p *Planner) Close(n *rebalance.Node, closed bool) {
	if p.o.Mode != Held {
		return
	}
	if p.closed[n.Name] = closed; !closed {
		delete(p.closed, n.Name)
	}
	as := *n.Node
	as.Unschedulable = as.Unschedulable || closed
	p.fork.UpsertNode(&as)
}
