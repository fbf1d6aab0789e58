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

// mostTops is how many candidates one plan looks at as a scheduler without Holds would, which takes the plain path twice:
// some milliseconds each on thousands of nodes.
const mostTops = 500

// Cause is the cause of the Holds that descheduling makes.
const Cause = "Rebalance"

// VainHold is the name of the Avoid Hold that says how often moves of an owner's pods off a node were in vain. It is not that of
// pods which the node threw out (cluster.HoldName): either is there as long as it counts, whatever becomes of the other.
func VainHold(ownerUID, node string) string {
	return cluster.HoldName(ownerUID+"\x00"+Cause, node, model.Avoid)
}

// barred says why a pod is not to be moved at all; no words: it may be.
func (p *Planner) barred(m *Move) (Why, string) {
	is := p.state.Pod(m.Pod.UID)
	switch {
	case p.moved[m.Pod.UID]:
		return Gone, "it is to go already"
	case is == nil || is.NodeName != m.From:
		return Gone, "it is not on node " + m.From + " any more"
	case is.Deleting:
		return Gone, "it is on its way out"
	}
	return 0, ""
}

// unplaceable says why nobody would replace a pod, or not elsewhere, without asking placement.
func (p *Planner) unplaceable(m *Move) (Why, string) {
	pod := m.Pod
	if pod.Owner.UID == "" {
		return Bare, "it has no controller, so that nobody would replace it"
	}
	if pod.Owner.Kind == "DaemonSet" {
		return Daemon, "DaemonSet " + pod.Owner.Name + " would put its replacement on the same node"
	}
	if p.o.Profiles[pod.Spec.SchedulerName] == nil {
		return Foreign, fmt.Sprintf("how its scheduler %q places pods is not known: give its configuration, or limit the policy to others", pod.Spec.SchedulerName)
	}
	if until, why, known := p.o.Memory.Against(p.o.Now, m); known {
		return InVain, why + "; not tried again until " + until.UTC().Format(time.RFC3339)
	}
	if h, there := p.state.Hold(pod.Namespace, VainHold(pod.Owner.UID, m.From)); there && h.Until.After(p.o.Now) {
		return InVain, fmt.Sprintf("a pod of %s %s came back to the node before; not tried again until %s (Hold %s)",
			pod.Owner.Kind, pod.Owner.Name, h.Until.UTC().Format(time.RFC3339), h.Name)
	}
	return 0, ""
}

// KeyOf is what a move is remembered by.
func KeyOf(m *Move) Key { return Key{Owner: m.Pod.Owner.UID, From: m.From, Strategy: m.Strategy} }

// Workload is what is remembered of all of an owner's pods: nobody replaced one, or its replacement did not become Ready.
func Workload(m *Move) Key { return Key{Owner: m.Pod.Owner.UID} }

// place asks placement where the replacement goes, the pod being off its node on the fork; it fills in the move.
func (p *Planner) place(m *Move, c *rebalance.Candidate) (Why, string) {
	in := StandIn(m.Pod, "")
	s := &p.summary
	p.engine(m.Pod).Decide(in, s)
	switch {
	case s.Outcome != decision.Scheduled:
		return Nowhere, "its replacement would fit on no node"
	case s.Choice == m.From && s.Feasible == 1:
		return Nowhere, "its replacement would fit on no other node"
	case s.Choice == m.From:
		return StraightBack, fmt.Sprintf("the scheduler would put its replacement back on %s, with a score of %d, the best of %d nodes", m.From, s.Total, s.Feasible)
	}
	m.To = s.Choice
	where := []string{m.To}
	if m.Mode == Unheld {
		if p.tops++; p.tops > mostTops {
			return Enough, fmt.Sprintf("where no place can be held, moves are made one after another, and no more than %d are looked at for one plan", mostTops)
		}
		if m.Top, _ = Top(p.seen(m.Pod), p.o.Profiles[m.Pod.Spec.SchedulerName], p.o.Seed, m.Pod); slices.Contains(m.Top, m.From) {
			return StraightBack, fmt.Sprintf("the scheduler might put its replacement back on %s, which is as good as %s, and the place cannot be held", m.From, m.To)
		}
		where = m.Top
	}
	return p.gain(m, c, where)
}

// gain asks the strategy whether its goal gets closer on every node that the pod may go to.
func (p *Planner) gain(m *Move, c *rebalance.Candidate, where []string) (Why, string) {
	for _, name := range where {
		to := p.nodes[name]
		if to == nil {
			return NoGain, fmt.Sprintf("the scheduler would put its replacement on %s, which is not among the nodes that are looked at", name)
		}
		if c.Gain == nil {
			continue
		}
		g := c.Gain(to)
		if name == m.To {
			m.Gain = g
		}
		if !g.Closer() {
			return NoGain, fmt.Sprintf("on %s, where the scheduler would put its replacement, it would be no better: %s %d, and %d after it", name, g.Of, g.Before, g.After)
		}
	}
	return 0, ""
}

// engine is that of a pod's scheduler on the fork.
func (p *Planner) engine(pod *model.Pod) *placement.Engine {
	name := pod.Spec.SchedulerName
	e := p.engines[name]
	if e == nil {
		e = placement.NewEngine(p.seen(pod), p.o.Profiles[name], p.o.Seed)
		p.engines[name] = e
	}
	return e
}
