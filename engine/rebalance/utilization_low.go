package rebalance

import (
	"fmt"
	"slices"
	"strings"
)

// Run takes pods off overutilized nodes, the fullest first, until each is at its target or the room of the
// underutilized ones is spent.
func (s *LowNodeUtilization) Run(r *Round) {
	var usage *Usage
	if s.Metered {
		usage = r.Snapshot.Usage
		if usage == nil {
			return
		}
	}
	m := newMeter(s.Thresholds, usage)
	all := m.levels(r)
	under, over := s.Thresholds, s.Targets
	if s.Deviation {
		under, over = around(all, under, over)
	}
	var low, high []*level
	for _, l := range all {
		l.allow(over)
		switch {
		case !l.node.Unschedulable && l.below(under):
			low = append(low, l)
		case l.above(over):
			high = append(high, l)
		}
	}
	if len(low) == 0 || len(low) <= s.NumberOfNodes || len(low) == len(all) {
		return
	}
	slices.SortStableFunc(high, func(a, b *level) int { return byWeight(b, a) })
	w := newShift(r, m, low)
	w.track(all)
	w.excluded, w.perNode = s.ExcludeNamespaces, s.PerNode
	w.removable = func(*Pod) bool { return true }
	w.done = func(l *level) bool { return !l.full() }
	w.candidate = func(p *Pod, l *level) *Candidate {
		return &Candidate{Pod: p, Node: l.node,
			Reason: func() string { return l.excess(m, over) },
			Gain:   func(to *Node) Gain { return w.relief(p, l, w.levels[to]) },
		}
	}
	for _, l := range high {
		if !w.take(l, w.victims(l)) {
			return
		}
	}
}

// excess tells by how much a node is above its targets.
func (l *level) excess(m *meter, targets Thresholds) string {
	var parts []string
	for i := range targets {
		if p := l.percent(i); p > targets[i].Percent {
			parts = append(parts, fmt.Sprintf("%s %.1f %%, target %.1f %%", m.resources[i], p, targets[i].Percent))
		}
	}
	return "node is above its target: " + strings.Join(parts, "; ")
}

// relief is the gain of a move: what the two nodes use above their targets, in millionths of what they have. A node
// that would get above its own target is no place to go.
func (s *shift) relief(p *Pod, from, to *level) Gain {
	g := Gain{Before: from.surplus(s.named), Of: "millionths of the node above its targets"}
	g.After = g.Before
	uses, measured := s.of(p)
	if to == nil || !measured {
		return g
	}
	after := &level{have: from.have, used: slices.Clone(from.used), room: from.room}
	for i, n := range uses {
		after.used[i] -= n
		if to.used[i]+n > to.room[i] {
			return g
		}
	}
	g.After = after.surplus(s.named)
	return g
}

// surplus is what a node uses above its room, summed over the first so many resources, in millionths of what it has.
func (l *level) surplus(named int) int64 {
	sum := int64(0)
	for i := range named {
		if over := l.used[i] - l.room[i]; over > 0 && l.have[i] > 0 {
			sum += int64(float64(over) / float64(l.have[i]) * 1e6)
		}
	}
	return sum
}
