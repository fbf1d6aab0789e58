package nodehealth

import (
	"time"

	"github.com/berthproject/berth/engine/model"
)

// sweep looks at all nodes: who is silent, how the zones fare, whose turn it is.
func (m *Machine) sweep(now time.Time) {
	m.next = now.Add(m.o.MonitorPeriod)
	nodes := m.all()
	for _, n := range nodes {
		m.judge(now, n)
	}
	was := m.allDown
	ready := func(n *node) bool { return n.Ready() == True && !m.silent(now, n) }
	waits := func(n *node) bool { return m.waits(now, n) }
	m.zones, m.allDown = survey(nodes, m.o, now, ready, waits)
	if was && !m.allDown {
		m.recover(now)
		m.zones, m.allDown = survey(nodes, m.o, now, ready, waits)
	}
	for i := range m.zones {
		m.ration(now, &m.zones[i])
	}
	for _, n := range nodes {
		if m.allDown {
			n.granted = false
		}
		m.retaint(now, n)
	}
}

// recover begins anew once not everything is lost any more: whoever is silent still may only not have been heard yet.
func (m *Machine) recover(now time.Time) {
	m.floor = now.Add(m.o.GracePeriod)
	for _, n := range m.nodes {
		n.seen = now
	}
}

// lostFor is how long a node may be silent.
func (m *Machine) lostFor(n *node) time.Duration {
	if n.Ready() == Absent {
		return m.o.StartupGrace
	}
	return m.o.GracePeriod
}

func (m *Machine) silent(now time.Time, n *node) bool { return now.Sub(n.seen) > m.lostFor(n) }

// judge marks a node that is silent.
func (m *Machine) judge(now time.Time, n *node) {
	if !m.silent(now, n) {
		m.lookAgain(n.seen.Add(m.lostFor(n) + time.Nanosecond))
		return
	}
	if m.busy(now, &n.marking) {
		return
	}
	conditions := unknown(&n.Node, now)
	if len(conditions) == 0 {
		return
	}
	n.marking.asked = true
	m.out = append(m.out, MarkUnknown{Node: n.Name, UID: n.UID, Silent: n.seen, Renewed: n.renewed, Conditions: conditions})
}

// unknown are the conditions of a silent node that are to change, in Kubernetes' words.
func unknown(n *Node, now time.Time) (out []Condition) {
	for _, kind := range posted {
		c := n.Condition(kind)
		switch c.Status {
		case Unknown:
			continue
		case Absent:
			c = Condition{Type: kind, Reason: "NodeStatusNeverUpdated", Message: "Kubelet never posted node status.", Heartbeat: n.Created}
		case True, False:
			c.Reason, c.Message = "NodeStatusUnknown", "Kubelet stopped posting node status."
		}
		c.Status, c.Transition = Unknown, now
		out = append(out, c)
	}
	return out
}

// waits says whether a node stands in line for its taint.
func (m *Machine) waits(now time.Time, n *node) bool {
	if !n.Ready().lost() || n.granted {
		return false
	}
	if n.Ready() == Unknown && m.floor.After(now) {
		m.lookAgain(m.floor)
		return false
	}
	return true
}

// ration gives the first in a zone's line its turn, if it is time.
func (m *Machine) ration(now time.Time, z *Zone) {
	if m.last[z.Name].After(z.Last) {
		z.Last = m.last[z.Name]
	}
	if z.Every > 0 && len(z.Line) > 0 && !z.Last.Add(z.Every).After(now) {
		n := m.nodes[z.Line[0].Node]
		n.granted, n.since = true, z.Line[0].Since
		z.Last, m.last[z.Name] = now, now
		z.Line = z.Line[1:]
	}
	z.times(now)
	if z.Every > 0 && len(z.Line) > 0 {
		m.lookAgain(z.Line[0].At)
	}
}

// lookAgain has all nodes looked at no later than at a time. Zero is no time.
func (m *Machine) lookAgain(at time.Time) {
	if !at.IsZero() && at.Before(m.next) {
		m.next = at
	}
}

// busy says whether a task cannot be asked for now.
func (m *Machine) busy(now time.Time, t *task) bool {
	if !t.asked && t.until.After(now) {
		m.lookAgain(t.until)
	}
	return t.asked || t.until.After(now)
}

// retaint asks for a node's taints to be brought in step, unless that is under way.
func (m *Machine) retaint(now time.Time, n *node) {
	r := retaint(&n.Node, n.granted, m.allDown, now)
	if r == nil {
		return
	}
	if m.busy(now, &n.tainted) {
		return
	}
	for _, t := range r.Add {
		if n.granted && t.Effect == model.NoExecute {
			r.Line = now.Sub(n.since)
		}
	}
	n.tainted.asked = true
	m.out = append(m.out, *r)
}
