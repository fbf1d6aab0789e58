package pressure

import (
	"context"
	"sync"
	"time"
)

// ManualManager is the loop by hand, for counting what it allocates.
type ManualManager struct {
	*Manager
	wg sync.WaitGroup
}

// Manual looks once, which starts what is due at first, and waits for that.
func (s *Manager) Manual(a Agent) *ManualManager {
	s.agent = a
	l := &ManualManager{Manager: s}
	l.Synchronize()
	l.wg.Wait()
	return l
}

// Synchronize is one look of the loop.
func (l *ManualManager) Synchronize() time.Duration {
	return l.synchronize(context.Background(), &l.wg, time.Now(), byClock)
}
