package agent

import "sync"

// tasks runs functions concurrently with the loop: those that send requests. None starts after stop.
type tasks struct {
	env     *Environment
	mu      sync.Mutex
	stopped bool
	running sync.WaitGroup
}

// start runs f concurrently.
func (t *tasks) start(f func()) {
	t.mu.Lock()
	stopped := t.stopped
	if !stopped {
		t.running.Add(1)
	}
	t.mu.Unlock()
	if stopped {
		return
	}
	t.env.Go(func() {
		defer t.running.Done()
		f()
	})
}

// stop waits for the running functions.
func (t *tasks) stop() {
	t.mu.Lock()
	t.stopped = true
	t.mu.Unlock()
	t.running.Wait()
}

// limiter runs functions concurrently, at most limit at the same time, in the order of the calls of start.
type limiter struct {
	tasks *tasks
	mu    sync.Mutex
	free  int
	queue []func()
}

func newLimiter(t *tasks, limit int) *limiter { return &limiter{tasks: t, free: limit} }

// start runs f as soon as the limit permits. It does not block.
func (l *limiter) start(f func()) {
	l.mu.Lock()
	isFree := l.free > 0
	if isFree {
		l.free--
	} else {
		l.queue = append(l.queue, f)
	}
	l.mu.Unlock()
	if isFree {
		l.tasks.start(func() { l.run(f) })
	}
}

// run calls f, and then the functions in the queue.
func (l *limiter) run(f func()) {
	for f != nil {
		f()
		f = l.next()
	}
}

// next removes a function from the queue. It returns nil if there is none.
func (l *limiter) next() (f func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.queue) == 0 {
		l.free++
		return nil
	}
	f, l.queue = l.queue[0], l.queue[1:]
	return f
}
