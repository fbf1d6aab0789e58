package scheduling

import (
	"slices"
	"time"

	"github.com/berthproject/berth/engine/model"
)

// assumedPressure is a node that has thrown pods out, or has not taken them, and has not said anything
// newer since. It is placed on as if it had the taints already that its conditions are going to bring
// (kubernetes#76325, #31778), and as if it had no more left than it says (lack.go). It follows from
// the pods and the node alone, so that a restart changes nothing.
type assumedPressure struct {
	node         string
	reported     *model.Node // as it was reported; nil while it is not known
	expiry       [model.NumPressures]time.Time
	lastEviction [model.NumPressures]time.Time // of the last pod that it threw out
	corrections  []capacityCorrection
}

// nextExpiry is when the first of its assumptions ends.
func (p *assumedPressure) nextExpiry() (at time.Time) {
	for _, end := range p.expiry {
		if !end.IsZero() && (at.IsZero() || end.Before(at)) {
			at = end
		}
	}
	for i := range p.corrections {
		if end := p.corrections[i].expires; at.IsZero() || end.Before(at) {
			at = end
		}
	}
	return at
}

// expire drops what is over, or what the node knows better by now, and says whether
// anything is left. A condition that is True stands until its taint is there.
func (p *assumedPressure) expire(now time.Time) bool {
	left := false
	for k := range p.expiry {
		known := false
		if p.reported != nil {
			c := &p.reported.Pressures[k]
			known = c.Written.After(p.lastEviction[k]) && (!c.True || slices.Contains(p.reported.Taints, model.Pressure(k).Taint()))
		}
		if known || !p.expiry[k].After(now) {
			p.expiry[k] = time.Time{}
		}
		left = left || !p.expiry[k].IsZero()
	}
	p.expireCorrections(now)
	return left || len(p.corrections) > 0
}

// withAssumptions is the node as it is placed on.
func (p *assumedPressure) withAssumptions() *model.Node {
	n := *p.reported
	n.Taints = slices.Clone(n.Taints)
	for k, end := range p.expiry {
		if t := model.Pressure(k).Taint(); !end.IsZero() && !slices.Contains(n.Taints, t) {
			n.Taints = append(n.Taints, t)
		}
	}
	p.applyCorrections(&n)
	return &n
}

func (m *Machine) findPressure(node string) *assumedPressure {
	for _, p := range m.assumedPressures {
		if p.node == node {
			return p
		}
	}
	return nil
}

// ReportedNode is a node as it was reported, without the pressure that is assumed of it; nil when it is
// not known.
func (m *Machine) ReportedNode(node string) *model.Node {
	if p := m.findPressure(node); p != nil && p.reported != nil {
		return p.reported
	}
	if id, known := m.state.NodeID(node); known {
		return m.state.Node(id).Model
	}
	return nil
}

func (m *Machine) dropPressure(node string) {
	m.assumedPressures = slices.DeleteFunc(m.assumedPressures, func(p *assumedPressure) bool { return p.node == node })
}

// assumePressure takes in that a node threw a pod out, or did not take it.
func (m *Machine) assumePressure(now time.Time, e *model.NodeEviction) {
	end := e.At.Add(m.cfg.AssumedPressureDuration)
	if e.At.After(now) { // the node's clock is ahead, or it is no node that says so
		end = now.Add(m.cfg.AssumedPressureDuration)
	}
	if e.Node == "" || !end.After(now) {
		return
	}
	p := m.findPressure(e.Node)
	if p == nil {
		p = &assumedPressure{node: e.Node}
		if id, known := m.state.NodeID(e.Node); known {
			p.reported = m.state.Node(id).Model
		}
	}
	switch {
	case e.Shortage != nil:
		if !m.addCapacityCorrection(p, e, end) {
			return
		}
	case !e.At.After(p.lastEviction[e.Pressure]):
		return
	default:
		p.lastEviction[e.Pressure], p.expiry[e.Pressure] = e.At, end
	}
	if !slices.Contains(m.assumedPressures, p) {
		m.assumedPressures = append(m.assumedPressures, p)
	}
	if p.reported != nil {
		m.upsertNode(now, p.reported)
	}
}

// withAssumedPressure is a node as it is placed on, given as it was reported.
func (m *Machine) withAssumedPressure(now time.Time, n *model.Node) *model.Node {
	p := m.findPressure(n.Name)
	if p == nil {
		return n
	}
	p.reported = n
	if !p.expire(now) {
		m.dropPressure(n.Name)
		return n
	}
	return p.withAssumptions()
}

// expirePressure ends assumptions whose time is over.
func (m *Machine) expirePressure(now time.Time) {
	for _, p := range slices.Clone(m.assumedPressures) {
		switch {
		case p.nextExpiry().After(now):
		case p.reported != nil:
			m.upsertNode(now, p.reported)
		case !p.expire(now):
			m.dropPressure(p.node)
		}
	}
}
