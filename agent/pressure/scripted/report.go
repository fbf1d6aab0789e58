package scripted

import (
	"fmt"

	"github.com/berthproject/berth/agent/pressure"
)

// Report returns the state of a node's thresholds and the order of eviction. It fails before Run is called.
func (s *Manager) Report(name string) (*pressure.Report, error) {
	n := s.node(name)
	if n == nil { // no usage is scripted, so the node is not monitored yet
		s.watchNode(name)
		if n = s.node(name); n == nil {
			return nil, fmt.Errorf("node %s: not a simulated node of this process", name)
		}
	}
	s.mu.Lock()
	agent := s.agent
	s.mu.Unlock()
	if agent == nil {
		return nil, fmt.Errorf("node %s: its resources are not monitored yet", name)
	}
	list := agent.Pods(name)
	n.mu.Lock()
	defer n.mu.Unlock()
	now := s.now()
	o, _ := n.observe(now, list)
	return pressure.NewReport(name, now, n.machine, &o, o.Pods()), nil
}
