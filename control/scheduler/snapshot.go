package scheduler

import (
	"context"
	"sync"
	"time"

	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/queue"
	"github.com/berthproject/berth/engine/scheduling"
)

const (
	// listed is how many pods of each pool a snapshot of the queue lists.
	listed = 5000
	// A snapshot is used again for so long, and longer when making it took long: the
	// loop does not spend more than a tenth of its time for readers.
	snapshotAge, snapshotShare = time.Second, 10
)

// snapshot is a copy of something of the machine that the loop made for
// readers.
type snapshot[T any] struct {
	mu    sync.Mutex
	at    time.Time
	took  time.Duration
	value T
}

// get is the last copy while it is fresh, else a new one. When the loop does not
// answer in time, the last copy comes with the error.
func (c *snapshot[T]) get(ctx context.Context, s *shell, copied func(*scheduling.Machine) T) (T, time.Time, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.at.IsZero() && time.Since(c.at) < max(snapshotAge, snapshotShare*c.took) {
		return c.value, c.at, nil
	}
	err := s.atLoop(ctx, func(m *scheduling.Machine) {
		start := time.Now()
		c.value, c.at = copied(m), start
		c.took = time.Since(start)
	})
	return c.value, c.at, err
}

// queued is how the queue stands.
type queued struct {
	depths queue.Depths
	pods   []queue.Waiting // at most listed of each pool, in the queue's order
}

func copyQueue(m *scheduling.Machine) queued {
	out := queued{depths: m.Depths()}
	seen := map[queue.Pool]int{}
	for w := range m.Waiting {
		if seen[w.Pool]++; seen[w.Pool] <= listed {
			out.pods = append(out.pods, w)
		}
	}
	return out
}

// rejections are how many pods wait, by the rules that rejected them.
type rejections map[rejector]int

type rejector struct {
	rule    decision.Rule
	profile string
}

func copyRejections(m *scheduling.Machine) rejections {
	out := rejections{}
	m.Rejected(func(profile string, rules decision.RuleSet, n int) {
		for r := decision.NoRule + 1; r < decision.NumRules; r++ {
			if rules.Has(r) {
				out[rejector{r, profile}] += n
			}
		}
	})
	return out
}
