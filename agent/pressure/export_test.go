package pressure

import (
	"context"
	"sync"
	"time"
)

// Looker is the loop by hand, for counting what it allocates.
type Looker struct {
	*Shell
	wg sync.WaitGroup
}

// ByHand looks once, which starts what is due at first, and waits for that.
func (s *Shell) ByHand(a Agent) *Looker {
	s.agent = a
	l := &Looker{Shell: s}
	l.Look()
	l.wg.Wait()
	return l
}

// Look is one look of the loop.
func (l *Looker) Look() time.Duration {
	return l.look(context.Background(), &l.wg, time.Now(), byClock)
}
