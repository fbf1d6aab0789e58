package scheduling

import (
	"slices"
	"time"

	"github.com/berthproject/berth/engine/model"
)

// pressured is a node that has thrown pods out, or has not taken them, and has not said anything
// newer since. It is placed on as if it had the taints already that its conditions are going to bring
// (kubernetes#76325, #31778), and as if it had no more left than it says (lack.go). It follows from
// the pods and the node alone, so that a restart changes nothing.
type pressured struct {
	node string
	seen *model.Node // as it was reported; nil while it is not known
	ends [model.NumPressures]time.Time
	from [model.NumPressures]time.Time // of the last pod that it threw out
	lack []lack
}

// until is when the first of its assumptions ends.
func (p *pressured) until() (at time.Time) {
	for _, end := range p.ends {
		if !end.IsZero() && (at.IsZero() || end.Before(at)) {
			at = end
		}
	}
	for i := range p.lack {
		if end := p.lack[i].ends; at.IsZero() || end.Before(at) {
			at = end
		}
	}
	return at
}

// settle drops what is over, or what the node knows better by now, and says whether
// anything is left. A condition that is True stands until its taint is there.
func (p *pressured) settle(now time.Time) bool {
	left := false
	for k := range p.ends {
		known := false
		if p.seen != nil {
			c := &p.seen.Pressures[k]
			known = c.Written.After(p.from[k]) && (!c.True || slices.Contains(p.seen.Taints, model.Pressure(k).Taint()))
		}
		if known || !p.ends[k].After(now) {
			p.ends[k] = time.Time{}
		}
		left = left || !p.ends[k].IsZero()
	}
	p.settleLacks(now)
	return left || len(p.lack) > 0
}

// tainted is the node as it is placed on.
func (p *pressured) tainted() *model.Node {
	n := *p.seen
	n.Taints = slices.Clone(n.Taints)
	for k, end := range p.ends {
		if t := model.Pressure(k).Taint(); !end.IsZero() && !slices.Contains(n.Taints, t) {
			n.Taints = append(n.Taints, t)
		}
	}
	p.lessen(&n)
	return &n
}

func (m *Machine) pressure(node string) *pressured {
	for _, p := range m.pressured {
		if p.node == node {
			return p
		}
	}
	return nil
}

// Reported is a node as it was reported, without the pressure that is assumed of it; nil when it is
// not known.
func (m *Machine) Reported(node string) *model.Node {
	if p := m.pressure(node); p != nil && p.seen != nil {
		return p.seen
	}
	if id, known := m.state.NodeID(node); known {
		return m.state.Node(id).Model
	}
	return nil
}

func (m *Machine) dropPressure(node string) {
	m.pressured = slices.DeleteFunc(m.pressured, func(p *pressured) bool { return p.node == node })
}

// assumePressure takes in that a node threw a pod out, or did not take it.
func (m *Machine) assumePressure(now time.Time, e *model.Eviction) {
	end := e.At.Add(m.cfg.AssumedPressure)
	if e.At.After(now) { // the node's clock is ahead, or it is no node that says so
		end = now.Add(m.cfg.AssumedPressure)
	}
	if e.Node == "" || !end.After(now) {
		return
	}
	p := m.pressure(e.Node)
	if p == nil {
		p = &pressured{node: e.Node}
		if id, known := m.state.NodeID(e.Node); known {
			p.seen = m.state.Node(id).Model
		}
	}
	switch {
	case e.Lack != nil:
		if !m.assumeLack(p, e, end) {
			return
		}
	case !e.At.After(p.from[e.Pressure]):
		return
	default:
		p.from[e.Pressure], p.ends[e.Pressure] = e.At, end
	}
	if !slices.Contains(m.pressured, p) {
		m.pressured = append(m.pressured, p)
	}
	if p.seen != nil {
		m.upsertNode(now, p.seen)
	}
}

// underPressure is a node as it is placed on, given as it was reported.
func (m *Machine) underPressure(now time.Time, n *model.Node) *model.Node {
	p := m.pressure(n.Name)
	if p == nil {
		return n
	}
	p.seen = n
	if !p.settle(now) {
		m.dropPressure(n.Name)
		return n
	}
	return p.tainted()
}

// easePressure ends assumptions whose time is over.
func (m *Machine) easePressure(now time.Time) {
	for _, p := range slices.Clone(m.pressured) {
		switch {
		case p.until().After(now):
		case p.seen != nil:
			m.upsertNode(now, p.seen)
		case !p.settle(now):
			m.dropPressure(p.node)
		}
	}
}
