package nodelifecycle

import (
	"time"

	"github.com/berthproject/berth/engine/model"
)

// monitorNodes checks all nodes, recomputes the zones, and taints the first nodes of their queues.
func (m *Machine) monitorNodes(now time.Time) {
	m.nextMonitor = now.Add(m.options.MonitorPeriod)
	nodes := m.sortedNodes()
	for _, n := range nodes {
		m.checkNode(now, n)
	}
	wasAllDown := m.allDown
	ready := func(n *node) bool { return n.Ready() == True && !m.isSilent(now, n) }
	awaitsTaint := func(n *node) bool { return m.awaitsTaint(now, n) }
	m.zones, m.allDown = computeZones(nodes, m.options, now, ready, awaitsTaint)
	if wasAllDown && !m.allDown {
		m.restartGrace(now)
		m.zones, m.allDown = computeZones(nodes, m.options, now, ready, awaitsTaint)
	}
	for i := range m.zones {
		m.taintNext(now, &m.zones[i])
	}
	for _, n := range nodes {
		if m.allDown {
			n.taintGranted = false
		}
		m.requestTaints(now, n)
	}
}

// restartGrace restarts all grace periods after FullDisruption of all zones: heartbeats of nodes that
// seem silent may not have arrived yet.
func (m *Machine) restartGrace(now time.Time) {
	m.unknownNotBefore = now.Add(m.options.GracePeriod)
	for _, n := range m.nodes {
		n.lastHeartbeat = now
	}
}

// gracePeriod returns the time for which a node may be silent.
func (m *Machine) gracePeriod(n *node) time.Duration {
	if n.Ready() == Absent {
		return m.options.StartupGrace
	}
	return m.options.GracePeriod
}

func (m *Machine) isSilent(now time.Time, n *node) bool {
	return now.Sub(n.lastHeartbeat) > m.gracePeriod(n)
}

// checkNode emits MarkUnknown for a silent node, and schedules the next check of any other.
func (m *Machine) checkNode(now time.Time, n *node) {
	if !m.isSilent(now, n) {
		m.monitorBy(n.lastHeartbeat.Add(m.gracePeriod(n) + time.Nanosecond))
		return
	}
	if m.isBusy(now, &n.conditionTask) {
		return
	}
	conditions := unknownConditions(&n.Node, now)
	if len(conditions) == 0 {
		return
	}
	n.conditionTask.inFlight = true
	m.effects = append(m.effects, MarkUnknown{Node: n.Name, UID: n.UID, SilentSince: n.lastHeartbeat, Renewed: n.leaseRenewed, Conditions: conditions})
}

// unknownConditions returns the conditions of a silent node that must change, with the texts of
// Kubernetes.
func unknownConditions(n *Node, now time.Time) (out []Condition) {
	for _, kind := range kubeletConditions {
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

// awaitsTaint reports whether a node is queued for its taint. If it cannot be queued before
// unknownNotBefore, awaitsTaint schedules the next check for then.
func (m *Machine) awaitsTaint(now time.Time, n *node) bool {
	if !n.Ready().notReady() || n.taintGranted {
		return false
	}
	if n.Ready() == Unknown && m.unknownNotBefore.After(now) {
		m.monitorBy(m.unknownNotBefore)
		return false
	}
	return true
}

// taintNext taints the first node of a zone's queue if the rate allows.
func (m *Machine) taintNext(now time.Time, z *Zone) {
	if m.lastTainted[z.Name].After(z.LastTainted) {
		z.LastTainted = m.lastTainted[z.Name]
	}
	if z.TaintInterval > 0 && len(z.Queue) > 0 && !z.LastTainted.Add(z.TaintInterval).After(now) {
		n := m.nodes[z.Queue[0].Node]
		n.taintGranted, n.notReadySince = true, z.Queue[0].NotReadySince
		z.LastTainted, m.lastTainted[z.Name] = now, now
		z.Queue = z.Queue[1:]
	}
	z.setTaintTimes(now)
	if z.TaintInterval > 0 && len(z.Queue) > 0 {
		m.monitorBy(z.Queue[0].TaintAt)
	}
}

// monitorBy schedules the next check of all nodes no later than at; zero is ignored.
func (m *Machine) monitorBy(at time.Time) {
	if !at.IsZero() && at.Before(m.nextMonitor) {
		m.nextMonitor = at
	}
}

// isBusy reports whether an effect cannot be emitted now. If it must wait for its retry, isBusy
// schedules the next check for then.
func (m *Machine) isBusy(now time.Time, t *task) bool {
	if !t.inFlight && t.retryAt.After(now) {
		m.monitorBy(t.retryAt)
	}
	return t.inFlight || t.retryAt.After(now)
}

// requestTaints emits the update of a node's taints, if they must change and no update is in flight.
func (m *Machine) requestTaints(now time.Time, n *node) {
	r := taintUpdate(&n.Node, n.taintGranted, m.allDown, now)
	if r == nil {
		return
	}
	if m.isBusy(now, &n.taintTask) {
		return
	}
	for _, t := range r.Add {
		if n.taintGranted && t.Effect == model.NoExecute {
			r.QueueTime = now.Sub(n.notReadySince)
		}
	}
	n.taintTask.inFlight = true
	m.effects = append(m.effects, *r)
}
