package scheduler

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/queue"
	"github.com/berthproject/berth/engine/scheduling"
)

const (
	// maxListedPerPool is how many pods of each pool a snapshot of the queue lists.
	maxListedPerPool = 5000
	// maxClassesPerStep is how many kinds of pods the loop goes through for readers at a time.
	maxClassesPerStep = 5000
	// A snapshot is used again for so long, and longer when making it took long: the
	// loop does not spend more than a tenth of its time for readers.
	snapshotAge, snapshotShare = time.Second, 10
)

// cachedSnapshot is a copy of something of the machine that was made for readers.
type cachedSnapshot[T any] struct {
	mu    sync.Mutex
	at    time.Time
	took  time.Duration
	value T
}

// get is the last copy while it is fresh, else a new one. When the loop does not
// answer in time, the last copy comes with the error.
func (c *cachedSnapshot[T]) get(ctx context.Context, read func(context.Context) (T, error)) (T, time.Time, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.at.IsZero() && time.Since(c.at) < max(snapshotAge, snapshotShare*c.took) {
		return c.value, c.at, nil
	}
	start := time.Now()
	value, err := read(ctx)
	if err == nil {
		c.value, c.at, c.took = value, start, time.Since(start)
	}
	return c.value, c.at, err
}

// queueState is how the queue stands.
type queueState struct {
	depths queue.Depths
	pods   []queue.PendingPod // at most listed of each pool, in the queue's order
}

// copyQueue has the loop copy the queue, and sorts it here.
func (s *scheduler) copyQueue(ctx context.Context) (queueState, error) {
	var out queueState
	err := s.queryLoop(ctx, func(m *scheduling.Machine) {
		out.depths = m.Depths()
		d := out.depths
		out.pods = make([]queue.PendingPod, 0, d.Active+d.Backoff+d.Unschedulable+d.Gated+d.InFlight)
		for w := range m.InQueue {
			out.pods = append(out.pods, w)
		}
	})
	slices.SortFunc(out.pods, compareTurn)
	seen := map[queue.Pool]int{}
	out.pods = slices.Clone(slices.DeleteFunc(out.pods, func(w queue.PendingPod) bool {
		seen[w.Pool]++
		return seen[w.Pool] > maxListedPerPool
	}))
	return out, err
}

// compareTurn orders pods by when their turn comes, pool by pool.
func compareTurn(a, b queue.PendingPod) int {
	return cmp.Or(cmp.Compare(a.Pool, b.Pool), a.BackoffEnd.Compare(b.BackoffEnd), cmp.Compare(b.Priority, a.Priority),
		a.Since.Compare(b.Since), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name), cmp.Compare(a.UID, b.UID))
}

// rejections are how many pods wait, by the rules that rejected them.
type rejections map[rejectionKey]int

type rejectionKey struct {
	rules   decision.PluginSet
	profile string
}

// countRejections has the loop count, some thousand kinds of pods at a time.
func (s *scheduler) countRejections(ctx context.Context) (rejections, error) {
	out := rejections{}
	for from, first := 0, true; from > 0 || first; first = false {
		err := s.queryLoop(ctx, func(m *scheduling.Machine) {
			from = m.Rejected(from, maxClassesPerStep, func(profile string, rules decision.PluginSet, n int) { out[rejectionKey{rules, profile}] += n })
		})
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

// byRule counts a pod for each rule that rejected it.
func (r rejections) byRule(f func(rule decision.Plugin, profile string, n int)) {
	type one struct {
		rule    decision.Plugin
		profile string
	}
	sums := map[one]int{}
	for k, n := range r {
		for rule := decision.NoPlugin + 1; rule < decision.NumPlugins; rule++ {
			if k.rules.Has(rule) {
				sums[one{rule, k.profile}] += n
			}
		}
	}
	for k, n := range sums {
		f(k.rule, k.profile, n)
	}
}
