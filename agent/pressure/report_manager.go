//go:build linux

package pressure

import (
	"context"
	"fmt"
	"time"
)

// reportInterval is how long a report is cached, because reading the usage of all pods delays decisions.
const reportInterval = time.Second

// Report returns the state of the thresholds and the order of eviction. It fails before Run is called.
func (m *Manager) Report(context.Context) (*Report, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.agent == nil {
		return nil, fmt.Errorf("node %s: its resources are not monitored yet", m.opts.Node)
	}
	now := time.Now()
	if m.report == nil || now.Sub(m.report.At) >= reportInterval {
		pods := m.opts.Stats.Observe(m.agent.Pods(m.opts.Node), m.terminatesBy)
		m.report = NewReport(m.opts.Node, now, m.machine, &m.observed, pods)
	}
	return m.report, nil
}
