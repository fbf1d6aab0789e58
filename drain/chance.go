package drain

import (
	"slices"
	"time"
)

// chance is what nobody knows beforehand: who of those that are to go is gone first, whether pods
// get Ready before anything else happens, and how long things take, which decides who of the pods that wait is tried next.
type chance struct {
	draw       uint64 // who is gone next; 0: who was told first
	readyFirst bool
	tick       time.Duration // what things take
}

// long is so long that most pods that wait may be tried again when the next thing has happened.
const long = 7 * time.Second

// chances are the courses of events that are tried; the first is told.
var chances = []chance{
	{tick: time.Second}, {readyFirst: true, tick: time.Second}, {draw: 1, tick: 50 * time.Millisecond}, {draw: 2, readyFirst: true, tick: 50 * time.Millisecond},
	{draw: 3, tick: long}, {draw: 4, tick: long}, {draw: 5, tick: long}, {draw: 6, tick: long},
	{draw: 7, readyFirst: true, tick: long}, {draw: 8, readyFirst: true, tick: long}, {draw: 9, readyFirst: true, tick: long}, {draw: 10, readyFirst: true, tick: long},
}

// dies is which of n that are to go is gone next. The draws are those of a linear congruence (Knuth's MMIX).
func (c *chance) dies(n int) int {
	if c.draw == 0 {
		return 0
	}
	c.draw = c.draw*6364136223846793005 + 1442695040888963407
	return int(c.draw >> 33 % uint64(n))
}

// strife says that pods contend for the same room: some are preempted, or wait. Only then chance decides.
func (r *Result) strife() bool { return len(r.Preempted) > 0 || r.Count(Pends) > 0 }

// compare marks what is otherwise in another course of events.
func (r *Result) compare(other *Result) {
	is := map[string]*Pod{}
	for i := range other.Pods {
		is[other.Pods[i].UID] = &other.Pods[i]
	}
	for i := range r.Pods {
		p := &r.Pods[i]
		if q := is[p.UID]; q == nil || !p.as(q) {
			p.Uncertain = true
		}
	}
}

func (r *Result) uncertain() bool {
	return slices.ContainsFunc(r.Pods, func(p Pod) bool { return p.Uncertain })
}

// as says that the same becomes of two pods.
func (p *Pod) as(q *Pod) bool {
	block := func(p *Pod) Block {
		if p.Block == nil {
			return Block{}
		}
		return Block{Kind: p.Block.Kind, Budget: p.Block.Budget, Never: p.Block.Never}
	}
	return p.Outcome == q.Outcome && p.To == q.To && p.Round == q.Round && block(p) == block(q)
}
