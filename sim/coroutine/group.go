package coroutine

import (
	"cmp"
	"iter"
	"maps"
	"slices"
)

// Group is the coroutines of one simulated process. The zero value is empty. It is not safe for concurrent use.
type Group struct {
	current *coroutine          // the running one; nil outside of coroutines
	live    map[*coroutine]bool // coroutines that have not ended
	started uint64              // number of started coroutines
	idle    []*coroutine        // that have returned; the next ones use their stacks
}

// maxIdle is the number of idle coroutines that a group keeps.
const maxIdle = 64

type coroutine struct {
	name   string
	number uint64 // order of the start
	f      func()
	next   func() (wait, bool)
	stop   func()
	ended  func()
	yield  func(wait) bool
}

// wait starts what a coroutine waits for, and is passed the function that resumes the coroutine.
type wait func(resume func())

// killed is the panic value that unwinds a killed coroutine.
type killed struct{}

// Go starts a coroutine and returns when it first waits or ends. name is the value of Name in it.
func (g *Group) Go(name string, f func()) { g.start(name, f, nil) }

// start is Go with a function that is called outside of the coroutine when f has returned; it may be nil.
func (g *Group) start(name string, f, ended func()) {
	g.started++
	c := g.next()
	c.name, c.number, c.f, c.ended = name, g.started, f, ended
	if g.live == nil {
		g.live = map[*coroutine]bool{}
	}
	g.live[c] = true
	g.resume(c)
}

// next returns an idle or new coroutine.
func (g *Group) next() *coroutine {
	if n := len(g.idle); n > 0 {
		c := g.idle[n-1]
		g.idle = g.idle[:n-1]
		return c
	}
	c := &coroutine{}
	c.next, c.stop = iter.Pull(func(yield func(wait) bool) {
		defer func() {
			if cause := recover(); cause != nil && cause != any(killed{}) {
				panic(cause)
			}
		}()
		c.yield = yield
		for c.f(); yield(nil); {
			c.f()
		}
	})
	return c
}

// resume runs a coroutine until it waits or ends.
func (g *Group) resume(c *coroutine) {
	previous := g.current
	g.current = c
	start, runs := c.next()
	g.current = previous
	if start == nil {
		g.end(c, runs)
		return
	}
	number := c.number
	start(func() {
		if g.live[c] && c.number == number {
			g.resume(c)
		}
	})
}

// end removes a coroutine whose function has returned. If the coroutine is idle, end keeps it for reuse, up to maxIdle.
func (g *Group) end(c *coroutine, idle bool) {
	ended := c.ended
	c.f, c.ended = nil, nil
	delete(g.live, c)
	switch {
	case !idle:
	case len(g.idle) < maxIdle:
		g.idle = append(g.idle, c)
	default:
		c.stop()
	}
	if ended != nil {
		ended()
	}
}

// Name returns the name of the running coroutine, or "" outside of one.
func (g *Group) Name() string {
	if g.current == nil {
		return ""
	}
	return g.current.name
}

// Wait suspends the running coroutine. start is called outside of it and is passed the function that resumes it,
// which must be called at most once. If the group is killed before, Wait does not return.
func (g *Group) Wait(start func(resume func())) {
	if !g.current.yield(start) {
		panic(killed{})
	}
}

// Exit ends the running coroutine, as if its process were killed.
func (g *Group) Exit() { panic(killed{}) }

// ForEach calls f with the numbers from 0 to n-1 and waits until all calls have returned. At most limit calls run at the
// same time, each in a coroutine with the name of the running one. If n is 1, f runs in the running coroutine.
func (g *Group) ForEach(n, limit int, f func(i int)) {
	if n == 1 {
		f(0)
		return
	}
	name := g.Name()
	g.Wait(func(resume func()) {
		started, running, done := 0, 0, false
		var fill func()
		fill = func() {
			for started < n && running < limit {
				i := started
				started++
				running++
				g.start(name, func() { f(i) }, func() { running--; fill() })
			}
			if running == 0 && !done {
				done = true
				resume()
			}
		}
		fill()
	})
}

// Kill ends all coroutines in the order in which they started.
func (g *Group) Kill() {
	for _, c := range slices.SortedFunc(maps.Keys(g.live), func(a, b *coroutine) int { return cmp.Compare(a.number, b.number) }) {
		g.current = c
		c.stop()
		delete(g.live, c)
	}
	g.current = nil
	for _, c := range g.idle {
		c.stop()
	}
	g.idle = nil
}
