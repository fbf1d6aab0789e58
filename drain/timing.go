package drain

import (
	"slices"
	"time"
)

// timing is what nobody knows beforehand: who of those that are to go is gone first, whether pods
// get Ready before anything else happens, and how long things take, which decides who of the pods that wait is tried next.
type timing struct {
	seed         uint64 // who is gone next; 0: who was told first
	readyFirst   bool
	stepDuration time.Duration // what things take
}

// longStep is so long that most pods that wait may be tried again when the next thing has happened.
const longStep = 7 * time.Second

// timings are the courses of events that are tried; the first is told.
var timings = []timing{
	{stepDuration: time.Second}, {readyFirst: true, stepDuration: time.Second}, {seed: 1, stepDuration: 50 * time.Millisecond}, {seed: 2, readyFirst: true, stepDuration: 50 * time.Millisecond},
	{seed: 3, stepDuration: longStep}, {seed: 4, stepDuration: longStep}, {seed: 5, stepDuration: longStep}, {seed: 6, stepDuration: longStep},
	{seed: 7, readyFirst: true, stepDuration: longStep}, {seed: 8, readyFirst: true, stepDuration: longStep}, {seed: 9, readyFirst: true, stepDuration: longStep}, {seed: 10, readyFirst: true, stepDuration: longStep},
}

// pickTerminated is which of n that are to go is gone next. The draws are those of a linear congruence (Knuth's MMIX).
func (c *timing) pickTerminated(n int) int {
	if c.seed == 0 {
		return 0
	}
	c.seed = c.seed*6364136223846793005 + 1442695040888963407
	return int(c.seed >> 33 % uint64(n))
}

// hasContention says that pods contend for the same room: some are preempted, or wait. Only then chance decides.
func (r *Result) hasContention() bool { return len(r.Preempted) > 0 || r.Count(OutcomePending) > 0 }

// markUncertain marks what is otherwise in another course of events.
func (r *Result) markUncertain(other *Result) {
	is := map[string]*Pod{}
	for i := range other.Pods {
		is[other.Pods[i].UID] = &other.Pods[i]
	}
	for i := range r.Pods {
		p := &r.Pods[i]
		if q := is[p.UID]; q == nil || !p.sameResult(q) {
			p.Uncertain = true
		}
	}
}

func (r *Result) anyUncertain() bool {
	return slices.ContainsFunc(r.Pods, func(p Pod) bool { return p.Uncertain })
}

// sameResult says that the same becomes of two pods.
func (p *Pod) sameResult(q *Pod) bool {
	block := func(p *Pod) Block {
		if p.Block == nil {
			return Block{}
		}
		return Block{Kind: p.Block.Kind, Budget: p.Block.Budget, Permanent: p.Block.Permanent}
	}
	return p.Outcome == q.Outcome && p.To == q.To && p.Round == q.Round && block(p) == block(q)
}
