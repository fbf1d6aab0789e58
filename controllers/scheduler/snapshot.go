package scheduler

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/queue"
	"github.com/berthproject/berth/engine/scheduling"
)

const (
	// maxListedPerPool is the maximum number of pods per queue in a snapshot.
	maxListedPerPool = 5000
	// maxClassesPerStep is the maximum number of equivalence classes that the scheduling loop visits per query.
	maxClassesPerStep = 5000
	// snapshotAge is the minimum time for which a snapshot is reused.
	snapshotAge = time.Second
	// snapshotFactor is the minimum time for which a snapshot is reused, as a multiple of the duration of its copy.
	// Queries then use at most a tenth of the loop's time.
	snapshotFactor = 10
)

// cachedSnapshot caches a copy of a part of the scheduling machine's state for readers outside of the loop.
type cachedSnapshot[T any] struct {
	clock    clock.PassiveClock
	mu       sync.Mutex
	at       time.Time     // when the copy was made; zero: no copy yet
	duration time.Duration // how long the copy took
	value    T
}

// get returns the last copy and its time, or a new copy if the last one is too old. If read fails, get
// returns the last copy and the error.
func (c *cachedSnapshot[T]) get(ctx context.Context, read func(context.Context) (T, error)) (T, time.Time, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.at.IsZero() && c.clock.Since(c.at) < max(snapshotAge, snapshotFactor*c.duration) {
		return c.value, c.at, nil
	}
	start := c.clock.Now()
	value, err := read(ctx)
	if err == nil {
		c.value, c.at, c.duration = value, start, c.clock.Since(start)
	}
	return c.value, c.at, err
}

type queueState struct {
	depths queue.Depths
	pods   []queue.PendingPod // at most maxListedPerPool of each queue, in queue order
}

// copyQueue copies the queue in the scheduling loop and sorts the copy outside of it.
func (s *scheduler) copyQueue(ctx context.Context) (queueState, error) {
	var out queueState
	err := s.queryLoop(ctx, func(m *scheduling.Machine) {
		out.depths = m.Depths()
		d := out.depths
		out.pods = make([]queue.PendingPod, 0, d.Active+d.Backoff+d.Unschedulable+d.Gated+d.InFlight)
		for p := range m.PendingPods {
			out.pods = append(out.pods, p)
		}
	})
	slices.SortFunc(out.pods, compareQueueOrder)
	seen := map[queue.Pool]int{}
	out.pods = slices.Clone(slices.DeleteFunc(out.pods, func(p queue.PendingPod) bool {
		seen[p.Pool]++
		return seen[p.Pool] > maxListedPerPool
	}))
	return out, err
}

// compareQueueOrder orders pods by queue and by their position in it.
func compareQueueOrder(a, b queue.PendingPod) int {
	return cmp.Or(cmp.Compare(a.Pool, b.Pool), a.BackoffEnd.Compare(b.BackoffEnd), cmp.Compare(b.Priority, a.Priority),
		a.Since.Compare(b.Since), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name), cmp.Compare(a.UID, b.UID))
}

// rejections counts pending pods by the set of plugins that rejected them.
type rejections map[rejectionKey]int

type rejectionKey struct {
	rejectedBy decision.PluginSet
	profile    string
}

// countRejections counts the pending pods by the plugins that rejected them. Each query of the loop visits
// at most maxClassesPerStep equivalence classes.
func (s *scheduler) countRejections(ctx context.Context) (rejections, error) {
	out := rejections{}
	for from, first := 0, true; from > 0 || first; first = false {
		err := s.queryLoop(ctx, func(m *scheduling.Machine) {
			from = m.Rejected(from, maxClassesPerStep, func(profile string, rejectedBy decision.PluginSet, n int) {
				out[rejectionKey{rejectedBy, profile}] += n
			})
		})
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

// byPlugin calls f for each plugin and profile with the number of pods that the plugin rejected, in random order.
func (r rejections) byPlugin(f func(plugin decision.Plugin, profile string, n int)) {
	type key struct {
		plugin  decision.Plugin
		profile string
	}
	sums := map[key]int{}
	for k, n := range r {
		for p := decision.NoPlugin + 1; p < decision.NumPlugins; p++ {
			if k.rejectedBy.Has(p) {
				sums[key{p, k.profile}] += n
			}
		}
	}
	for k, n := range sums {
		f(k.plugin, k.profile, n)
	}
}
