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
	// listed is how many pods of each pool a snapshot of the queue lists.
	listed = 5000
	// kinds is how many kinds of pods the loop goes through for readers at a time.
	kinds = 5000
	// A snapshot is used again for so long, and longer when making it took long: the
	// loop does not spend more than a tenth of its time for readers.
	snapshotAge, snapshotShare = time.Second, 10
)

// snapshot is a copy of something of the machine that was made for readers.
type snapshot[T any] struct {
	mu    sync.Mutex
	at    time.Time
	took  time.Duration
	value T
}

// get is the last copy while it is fresh, else a new one. When the loop does not
// answer in time, the last copy comes with the error.
func (c *snapshot[T]) get(ctx context.Context, take func(context.Context) (T, error)) (T, time.Time, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.at.IsZero() && time.Since(c.at) < max(snapshotAge, snapshotShare*c.took) {
		return c.value, c.at, nil
	}
	start := time.Now()
	value, err := take(ctx)
	if err == nil {
		c.value, c.at, c.took = value, start, time.Since(start)
	}
	return c.value, c.at, err
}

// queued is how the queue stands.
type queued struct {
	depths queue.Depths
	pods   []queue.Waiting // at most listed of each pool, in the queue's order
}

// takeQueue has the loop copy the queue, and sorts it here.
func (s *shell) takeQueue(ctx context.Context) (queued, error) {
	var out queued
	err := s.atLoop(ctx, func(m *scheduling.Machine) {
		out.depths = m.Depths()
		d := out.depths
		out.pods = make([]queue.Waiting, 0, d.Active+d.Backoff+d.Unschedulable+d.Gated+d.InFlight)
		for w := range m.InQueue {
			out.pods = append(out.pods, w)
		}
	})
	slices.SortFunc(out.pods, byTurn)
	seen := map[queue.Pool]int{}
	out.pods = slices.Clone(slices.DeleteFunc(out.pods, func(w queue.Waiting) bool {
		seen[w.Pool]++
		return seen[w.Pool] > listed
	}))
	return out, err
}

// byTurn orders pods by when their turn comes, pool by pool.
func byTurn(a, b queue.Waiting) int {
	return cmp.Or(cmp.Compare(a.Pool, b.Pool), a.BackoffEnd.Compare(b.BackoffEnd), cmp.Compare(b.Priority, a.Priority),
		a.Since.Compare(b.Since), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name), cmp.Compare(a.UID, b.UID))
}

// rejections are how many pods wait, by the rules that rejected them.
type rejections map[rejected]int

type rejected struct {
	rules   decision.RuleSet
	profile string
}

// takeRejections has the loop count, some thousand kinds of pods at a time.
func (s *shell) takeRejections(ctx context.Context) (rejections, error) {
	out := rejections{}
	for from, first := 0, true; from > 0 || first; first = false {
		err := s.atLoop(ctx, func(m *scheduling.Machine) {
			from = m.Rejected(from, kinds, func(profile string, rules decision.RuleSet, n int) { out[rejected{rules, profile}] += n })
		})
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

// byRule counts a pod for each rule that rejected it.
func (r rejections) byRule(f func(rule decision.Rule, profile string, n int)) {
	type one struct {
		rule    decision.Rule
		profile string
	}
	sums := map[one]int{}
	for k, n := range r {
		for rule := decision.NoRule + 1; rule < decision.NumRules; rule++ {
			if k.rules.Has(rule) {
				sums[one{rule, k.profile}] += n
			}
		}
	}
	for k, n := range sums {
		f(k.rule, k.profile, n)
	}
}
