package nodelifecycle

import (
	"cmp"
	"slices"
	"time"
)

// Machine knows all nodes. Make it with New.
type Machine struct {
	options     Options
	nodes       map[string]*node
	nodesByName []*node // by name; nil: to be made anew
	zones       []Zone  // as of the last sweep
	allDown     bool
	lastTainted map[string]time.Time // when a node of a zone was tainted
	// unknownNotBefore: nodes of Ready=Unknown stand in no line before.
	unknownNotBefore time.Time
	nextMonitor      time.Time // when all nodes are looked at again
	wake             time.Time // when it has asked to be called; zero: never yet
	effects          []Effect
}

// node is a node and what is known of it besides.
type node struct {
	Node
	lastSeen      time.Time // the last sign of life
	leaseRenewed  time.Time // renewTime of its Lease
	taintGranted  bool      // it has had its turn
	notReadySince time.Time // when it was lost, for those who have had it
	marking       task
	tainting      task
}

// task is an effect about a node that is asked for once at a time.
type task struct {
	inFlight bool
	retryAt  time.Time     // not asked for again before, if nothing is heard of the node
	backoff  time.Duration // after a failure
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
	return &Machine{options: o, nodes: map[string]*node{}, lastTainted: map[string]time.Time{}, unknownNotBefore: started.Add(o.GracePeriod), nextMonitor: started.Add(o.MonitorPeriod)}
}

// Step takes in events, in order, and returns what is to be done, and when to be called
// again if nothing happens before.
func (m *Machine) Step(now time.Time, events []Event) (effects []Effect, wake time.Time) {
	m.effects = nil
	m.discountOwnDelay(now)
	for _, e := range events {
		switch e := e.(type) {
		case Node:
			m.upsertNode(now, e)
		case NodeDeleted:
			if m.nodes[e.Node] != nil {
				delete(m.nodes, e.Node)
				m.nodesByName = nil
			}
		case LeaseRenewed:
			if n := m.nodes[e.Node]; n != nil && e.Time.After(n.leaseRenewed) {
				n.leaseRenewed, n.lastSeen = e.Time, now
			}
		case Outcome:
			m.handleOutcome(now, e)
		}
	}
	if !m.nextMonitor.After(now) {
		m.monitorNodes(now)
	}
	m.wake = m.nextMonitor
	return m.effects, m.wake
}

// Zones are the zones as of the last look at all nodes, and whether all of them are lost.
func (m *Machine) Zones() (zones []Zone, allDown bool) { return m.zones, m.allDown }

// discountOwnDelay takes time in which the machine was not called, though it had asked to be, for nobody's silence.
func (m *Machine) discountOwnDelay(now time.Time) {
	late := now.Sub(m.wake)
	if m.wake.IsZero() || late < 2*m.options.MonitorPeriod {
		return
	}
	for _, n := range m.nodes {
		n.lastSeen = n.lastSeen.Add(late)
	}
}

func (m *Machine) upsertNode(now time.Time, e Node) {
	n := m.nodes[e.Name]
	if n == nil || n.UID != e.UID {
		n = &node{Node: e, lastSeen: now}
		if e.Ready() == Absent && e.Created.After(m.unknownNotBefore.Add(-m.options.GracePeriod)) && e.Created.Before(now) {
			n.lastSeen = e.Created
		}
		m.nodes[e.Name], m.nodesByName = n, nil
	} else {
		was, is := n.Condition(Ready), e.Condition(Ready)
		if was.Status == Absent != (is.Status == Absent) || !was.Heartbeat.Equal(is.Heartbeat) {
			n.lastSeen = now
		}
		if !was.Status.notReady() && is.Status.notReady() && m.nextMonitor.After(now) {
			m.nextMonitor = now // it may be its turn
		}
		n.Node = e
		n.marking.reset()
		n.tainting.reset()
	}
	if n.Ready() == True {
		n.taintGranted = false
	}
	m.requestTaints(now, n)
}

func (t *task) reset() { t.retryAt = time.Time{} }

func (m *Machine) handleOutcome(now time.Time, e Outcome) {
	n := m.nodes[e.Node]
	if n == nil || n.UID != e.UID {
		return
	}
	t := &n.marking
	if e.IsTaintUpdate {
		t = &n.tainting
	}
	t.inFlight = false
	if !e.Failed {
		t.backoff = 0
	}
	t.backoff = min(max(2*t.backoff, firstRetry), lastRetry)
	t.retryAt = now.Add(t.backoff)
	if m.nextMonitor.After(t.retryAt) {
		m.nextMonitor = t.retryAt
	}
}

// sortedNodes are the nodes by name.
func (m *Machine) sortedNodes() []*node {
	if m.nodesByName == nil {
		m.nodesByName = make([]*node, 0, len(m.nodes))
		for _, n := range m.nodes {
			m.nodesByName = append(m.nodesByName, n)
		}
		slices.SortFunc(m.nodesByName, func(a, b *node) int { return cmp.Compare(a.Name, b.Name) })
	}
	return m.nodesByName
}
