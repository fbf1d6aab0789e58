package scheduling

import (
	"slices"
	"time"

	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/scheduling/assumption"
)

// findPressure returns the assumptions about a node, or nil.
func (m *Machine) findPressure(node string) *assumption.Node {
	for _, p := range m.assumedPressures {
		if p.Name() == node {
			return p
		}
	}
	return nil
}

// ReportedNode returns a node as reported, without assumptions, or nil.
func (m *Machine) ReportedNode(node string) *model.Node {
	if p := m.findPressure(node); p != nil && p.Reported() != nil {
		return p.Reported()
	}
	if id, ok := m.state.NodeID(node); ok {
		return m.state.Node(id).Model
	}
	return nil
}

func (m *Machine) dropPressure(node string) {
	m.assumedPressures = slices.DeleteFunc(m.assumedPressures, func(p *assumption.Node) bool { return p.Name() == node })
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
		var reported *model.Node
		if id, ok := m.state.NodeID(e.Node); ok {
			reported = m.state.Node(id).Model
		}
		p = assumption.New(e.Node, reported)
	}
	if e.Shortage != nil {
		id, ok := m.state.NodeID(e.Node)
		if !ok || p.Reported() == nil || !p.AddShortage(e.Shortage, m.state.Node(id), end) {
			return
		}
	} else if !p.AddPressure(e.Pressure, e.At, end) {
		return
	}
	if !slices.Contains(m.assumedPressures, p) {
		m.assumedPressures = append(m.assumedPressures, p)
	}
	if p.Reported() != nil {
		m.upsertNode(now, p.Reported())
	}
}

// withAssumedPressure returns the reported node with its assumed pressure.
func (m *Machine) withAssumedPressure(now time.Time, n *model.Node) *model.Node {
	p := m.findPressure(n.Name)
	if p == nil {
		return n
	}
	p.SetReported(n)
	if !p.Expire(now) {
		m.dropPressure(n.Name)
		return n
	}
	return p.Assumed()
}

// expirePressure drops expired assumptions.
func (m *Machine) expirePressure(now time.Time) {
	for _, p := range slices.Clone(m.assumedPressures) {
		switch {
		case p.NextExpiry().After(now):
		case p.Reported() != nil:
			m.upsertNode(now, p.Reported())
		case !p.Expire(now):
			m.dropPressure(p.Name())
		}
	}
}
