package drain

import (
	"slices"
	"time"

	"github.com/berthproject/berth/engine/evacuation"
)

// timing holds assumptions about timing: which terminating pod ends first, and whether pods become
// Ready before anything else happens. The assumed durations of steps determine the order of
// retries.
type timing struct {
	seed         uint64 // selects the pod that ends next; 0: in order of deletion
	readyFirst   bool
	stepDuration time.Duration
}

// longStep lets most pending pods be retried between two events.
const longStep = 7 * time.Second

// timings are the simulated timings; the first one is reported.
var timings = []timing{
	{stepDuration: time.Second}, {readyFirst: true, stepDuration: time.Second}, {seed: 1, stepDuration: 50 * time.Millisecond}, {seed: 2, readyFirst: true, stepDuration: 50 * time.Millisecond},
	{seed: 3, stepDuration: longStep}, {seed: 4, stepDuration: longStep}, {seed: 5, stepDuration: longStep}, {seed: 6, stepDuration: longStep},
	{seed: 7, readyFirst: true, stepDuration: longStep}, {seed: 8, readyFirst: true, stepDuration: longStep}, {seed: 9, readyFirst: true, stepDuration: longStep}, {seed: 10, readyFirst: true, stepDuration: longStep},
}

// pickTerminated returns which of n terminating pods ends next, by a linear congruential
// generator (Knuth's MMIX).
func (t *timing) pickTerminated(n int) int {
	if t.seed == 0 {
		return 0
	}
	t.seed = t.seed*6364136223846793005 + 1442695040888963407
	return int(t.seed >> 33 % uint64(n))
}

// hasContention reports whether pods compete for capacity: some are preempted or pending. Timing
// matters only then.
func (r *Result) hasContention() bool { return len(r.Preempted) > 0 || r.Count(OutcomePending) > 0 }

// markUncertain marks the pods whose result differs in another simulation.
func (r *Result) markUncertain(other *Result) {
	byUID := map[string]*Pod{}
	for i := range other.Pods {
		byUID[other.Pods[i].UID] = &other.Pods[i]
	}
	for i := range r.Pods {
		p := &r.Pods[i]
		if q := byUID[p.UID]; q == nil || !p.sameResult(q) {
			p.Uncertain = true
		}
	}
}

func (r *Result) anyUncertain() bool {
	return slices.ContainsFunc(r.Pods, func(p Pod) bool { return p.Uncertain })
}

// sameResult reports whether two results have the same outcome, node, round and block.
func (p *Pod) sameResult(q *Pod) bool {
	block := func(p *Pod) evacuation.Block {
		if p.Block == nil {
			return evacuation.Block{}
		}
		return evacuation.Block{Kind: p.Block.Kind, Budget: p.Block.Budget, Permanent: p.Block.Permanent}
	}
	return p.Outcome == q.Outcome && p.To == q.To && p.Round == q.Round && block(p) == block(q)
}
