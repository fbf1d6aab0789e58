package scripted

import (
	"fmt"

	"github.com/berthproject/berth/agent/pressure"
)

// Report returns the state of a node's thresholds and the order of eviction. It fails before Run is called.
func (m *Manager) Report(name string) (*pressure.Report, error) {
	n := m.node(name)
	if n == nil { // no usage is scripted, so the node is not monitored yet
		m.watchNode(name)
		if n = m.node(name); n == nil {
			return nil, fmt.Errorf("node %s: not a simulated node of this process", name)
		}
	}
	m.mu.Lock()
	agent := m.agent
	m.mu.Unlock()
	if agent == nil {
		return nil, fmt.Errorf("node %s: its resources are not monitored yet", name)
	}
	list := agent.Pods(name)
	n.mu.Lock()
	defer n.mu.Unlock()
	now := m.now()
	o, _ := n.observe(now, list)
	return pressure.NewReport(name, now, n.machine, &o, o.Pods()), nil
}
