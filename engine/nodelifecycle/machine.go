package nodelifecycle

import (
	"cmp"
	"slices"
	"time"
)

// Machine is the node lifecycle state machine. Create it with New. It is not safe for concurrent
// use.
type Machine struct {
	options     Options
	nodes       map[string]*node
	nodesByName []*node // sorted; nil: must be rebuilt
	zones       []Zone  // as last computed
	allDown     bool
	lastTainted map[string]time.Time // by zone
	// unknownNotBefore is when nodes with Ready=Unknown may first be queued.
	unknownNotBefore time.Time
	nextMonitor      time.Time // when all nodes are checked next
	wake             time.Time // wake time of the last Step; zero: none yet
	effects          []Effect
}

type node struct {
	Node
	lastHeartbeat time.Time // when it was observed
	leaseRenewed  time.Time // renewTime of its Lease
	taintGranted  bool      // the zone's queue has granted its NoExecute taint
	notReadySince time.Time // set with taintGranted
	conditionTask task
	taintTask     task
}

// task tracks an effect of which at most one is in flight per node.
type task struct {
	inFlight bool
	retryAt  time.Time     // when to retry, unless the node changes earlier
	backoff  time.Duration // after a failure
}

// Retry delays of an effect: after success, if the node does not change, and after failures.
const (
	firstRetry = time.Second
	lastRetry  = 30 * time.Second
)

// New returns a machine without nodes. It computes zones for the first time after a MonitorPeriod,
// when it has received all nodes.
func New(o Options, started time.Time) *Machine {
	return &Machine{options: o, nodes: map[string]*node{}, lastTainted: map[string]time.Time{}, unknownNotBefore: started.Add(o.GracePeriod), nextMonitor: started.Add(o.MonitorPeriod)}
}

// Step applies the events in order and returns the effects. wake is the latest time of the next call.
func (m *Machine) Step(now time.Time, events []Event) (effects []Effect, wake time.Time) {
	m.effects = nil
	m.excludeOwnDelay(now)
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
				n.leaseRenewed, n.lastHeartbeat = e.Time, now
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

// Zones returns the zones as last computed, and whether all of them are in FullDisruption.
func (m *Machine) Zones() (zones []Zone, allDown bool) { return m.zones, m.allDown }

// excludeOwnDelay excludes a delay of the call of Step from the silence of nodes.
func (m *Machine) excludeOwnDelay(now time.Time) {
	delay := now.Sub(m.wake)
	if m.wake.IsZero() || delay < 2*m.options.MonitorPeriod {
		return
	}
	for _, n := range m.nodes {
		n.lastHeartbeat = n.lastHeartbeat.Add(delay)
	}
}

func (m *Machine) upsertNode(now time.Time, e Node) {
	n := m.nodes[e.Name]
	if n == nil || n.UID != e.UID {
		n = &node{Node: e, lastHeartbeat: now}
		if e.Ready() == Absent && e.Created.After(m.unknownNotBefore.Add(-m.options.GracePeriod)) && e.Created.Before(now) {
			n.lastHeartbeat = e.Created
		}
		m.nodes[e.Name], m.nodesByName = n, nil
	} else {
		before, after := n.Condition(Ready), e.Condition(Ready)
		if before.Status == Absent != (after.Status == Absent) || !before.Heartbeat.Equal(after.Heartbeat) {
			n.lastHeartbeat = now
		}
		if !before.Status.notReady() && after.Status.notReady() && m.nextMonitor.After(now) {
			m.nextMonitor = now // the node may be first in its queue
		}
		n.Node = e
		n.conditionTask.reset()
		n.taintTask.reset()
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
	t := &n.conditionTask
	if e.IsTaintUpdate {
		t = &n.taintTask
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
