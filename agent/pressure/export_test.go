//go:build linux

package pressure

import (
	"context"
	"sync"
	"time"
)

// ManualManager runs the loop step by step to count allocations.
type ManualManager struct {
	*Manager
	wg sync.WaitGroup
}

// Manual synchronizes once and waits for the background tasks that this starts.
func (s *Manager) Manual(a Agent) *ManualManager {
	s.agent = a
	l := &ManualManager{Manager: s}
	l.Synchronize()
	l.wg.Wait()
	return l
}

// Synchronize runs one step of the loop.
func (l *ManualManager) Synchronize() time.Duration {
	return l.synchronize(context.Background(), &l.wg, time.Now(), byClock)
}
