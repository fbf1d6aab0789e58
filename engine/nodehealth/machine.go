package nodehealth

import (
	"cmp"
	"slices"
	"time"
)

// Machine knows all nodes. Make it with New.
type Machine struct {
	o       Options
	nodes   map[string]*node
	sorted  []*node // by name; nil: to be made anew
	zones   []Zone  // as of the last sweep
	allDown bool
	last    map[string]time.Time // when a node of a zone was tainted
	// floor: nodes of Ready=Unknown stand in no line before.
	floor time.Time
	next  time.Time // when all nodes are looked at again
	wake  time.Time // when it has asked to be called; zero: never yet
	out   []Effect
}

// node is a node and what is known of it besides.
type node struct {
	Node
	seen    time.Time // the last sign of life
	renewed time.Time // renewTime of its Lease
	granted bool      // it has had its turn
	since   time.Time // when it was lost, for those who have had it
	marking task
	tainted task
}

// task is an effect about a node that is asked for once at a time.
type task struct {
	asked bool
	until time.Time     // not asked for again before, if nothing is heard of the node
	wait  time.Duration // after a failure
}

// How long to wait after an effect before it is asked for again: when it was carried out, but the
// node is not seen to have changed, and after failures.
const (
	firstRetry = time.Second
	lastRetry  = 30 * time.Second
)

// New is a machine that knows nothing. It judges zones for the first time after a MonitorPeriod, when it
// has been told of all nodes.
func New(o Options, started time.Time) *Machine {
	return &Machine{o: o, nodes: map[string]*node{}, last: map[string]time.Time{}, floor: started.Add(o.GracePeriod), next: started.Add(o.MonitorPeriod)}
}

// Step takes in events, in order, and returns what is to be done, and when to be called
// again if nothing happens before.
func (m *Machine) Step(now time.Time, events []Event) (effects []Effect, wake time.Time) {
	m.out = nil
	m.excuse(now)
	for _, e := range events {
		switch e := e.(type) {
		case Node:
			m.set(now, e)
		case Gone:
			if m.nodes[e.Node] != nil {
				delete(m.nodes, e.Node)
				m.sorted = nil
			}
		case Renewed:
			if n := m.nodes[e.Node]; n != nil && e.Time.After(n.renewed) {
				n.renewed, n.seen = e.Time, now
			}
		case Outcome:
			m.outcome(now, e)
		}
	}
	if !m.next.After(now) {
		m.sweep(now)
	}
	m.wake = m.next
	return m.out, m.wake
}

// Zones are the zones as of the last look at all nodes, and whether all of them are lost.
func (m *Machine) Zones() (zones []Zone, allDown bool) { return m.zones, m.allDown }

// excuse takes time in which the machine was not called, though it had asked to be, for nobody's silence.
func (m *Machine) excuse(now time.Time) {
	late := now.Sub(m.wake)
	if m.wake.IsZero() || late < 2*m.o.MonitorPeriod {
		return
	}
	for _, n := range m.nodes {
		n.seen = n.seen.Add(late)
	}
}

func (m *Machine) set(now time.Time, e Node) {
	n := m.nodes[e.Name]
	if n == nil || n.UID != e.UID {
		n = &node{Node: e, seen: now}
		if e.Ready() == Absent && e.Created.After(m.floor.Add(-m.o.GracePeriod)) && e.Created.Before(now) {
			n.seen = e.Created
		}
		m.nodes[e.Name], m.sorted = n, nil
	} else {
		was, is := n.Condition(Ready), e.Condition(Ready)
		if was.Status == Absent != (is.Status == Absent) || !was.Heartbeat.Equal(is.Heartbeat) {
			n.seen = now
		}
		if !was.Status.lost() && is.Status.lost() && m.next.After(now) {
			m.next = now // it may be its turn
		}
		n.Node = e
		n.marking.heard()
		n.tainted.heard()
	}
	if n.Ready() == True {
		n.granted = false
	}
	m.retaint(now, n)
}

func (t *task) heard() { t.until = time.Time{} }

func (m *Machine) outcome(now time.Time, e Outcome) {
	n := m.nodes[e.Node]
	if n == nil || n.UID != e.UID {
		return
	}
	t := &n.marking
	if e.Taints {
		t = &n.tainted
	}
	t.asked = false
	if !e.Failed {
		t.wait = 0
	}
	t.wait = min(max(2*t.wait, firstRetry), lastRetry)
	t.until = now.Add(t.wait)
	if m.next.After(t.until) {
		m.next = t.until
	}
}

// all are the nodes by name.
func (m *Machine) all() []*node {
	if m.sorted == nil {
		m.sorted = make([]*node, 0, len(m.nodes))
		for _, n := range m.nodes {
			m.sorted = append(m.sorted, n)
		}
		slices.SortFunc(m.sorted, func(a, b *node) int { return cmp.Compare(a.Name, b.Name) })
	}
	return m.sorted
}
