package scheduling

import (
	"slices"
	"time"

	"github.com/berthproject/berth/engine/model"
)

// assumedPressure is a node that evicted or rejected pods and has not reported its condition since.
// The scheduler treats it as if it had the taints of that condition (kubernetes#76325, #31778) and
// no more resources than it reported. It is derived from pods and nodes alone, so a restart does
// not change it.
type assumedPressure struct {
	node         string
	reported     *model.Node // the node as reported; nil if unknown
	expiry       [model.NumPressures]time.Time
	lastEviction [model.NumPressures]time.Time // time of the last eviction, by condition
	corrections  []capacityCorrection
}

// nextExpiry returns when the first assumption expires.
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

// expire drops assumptions that expired or that the node's own conditions replace. It reports
// whether any is left. A condition that is True counts only once its taint exists.
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

// withAssumptions returns the node with the assumed taints and corrections.
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

// ReportedNode returns a node as reported, without assumptions, or nil.
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

// assumePressure handles an eviction or rejection by a node.
func (m *Machine) assumePressure(now time.Time, e *model.NodeEviction) {
	end := e.At.Add(m.cfg.AssumedPressureDuration)
	if e.At.After(now) { // the node's clock is ahead, or the status is not the kubelet's
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

// withAssumedPressure returns the reported node with the pressure assumed of it.
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

// expirePressure drops expired assumptions.
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
