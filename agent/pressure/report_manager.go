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
func (s *Manager) Report(context.Context) (*Report, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.agent == nil {
		return nil, fmt.Errorf("node %s: its resources are not monitored yet", s.opts.Node)
	}
	now := time.Now()
	if s.report == nil || now.Sub(s.report.At) >= reportInterval {
		pods := s.opts.Stats.Observe(s.agent.Pods(s.opts.Node), s.terminatesBy)
		s.report = NewReport(s.opts.Node, now, s.machine, &s.observed, pods)
	}
	return s.report, nil
}
