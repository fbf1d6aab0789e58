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
func (m *Manager) Manual(a Agent) *ManualManager {
	m.agent = a
	l := &ManualManager{Manager: m}
	l.Synchronize()
	l.wg.Wait()
	return l
}

// Synchronize runs one step of the loop.
func (m *ManualManager) Synchronize() time.Duration {
	return m.synchronize(context.Background(), &m.wg, time.Now(), byClock)
}
