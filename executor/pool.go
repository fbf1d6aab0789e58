package executor

import (
	"context"
	"hash/maphash"
	"sync"
	"sync/atomic"

	"github.com/berthproject/berth/engine/scheduling"
)

// Pool executes effects with goroutines. The effects of one pod are executed in order, by one worker.
type Pool struct {
	executor      *Executor
	onOutcome     func(scheduling.Outcome)
	seed          maphash.Seed
	queues        []chan scheduling.Effect
	extenderQueue chan scheduling.Effect // calls to extenders, which may be slow, have a separate queue
	pending       atomic.Int64
}

// queuedPerWorker is the queue length of each worker.
const queuedPerWorker = 64

// NewPool returns a Pool with the given number of workers, which execute one effect at a time each. onOutcome receives
// the outcomes. It must not block. The Pool does nothing until Run is called.
func NewPool(x *Executor, workers int, onOutcome func(scheduling.Outcome)) *Pool {
	p := &Pool{executor: x, onOutcome: onOutcome, seed: maphash.MakeSeed(), queues: make([]chan scheduling.Effect, workers),
		extenderQueue: make(chan scheduling.Effect, workers*queuedPerWorker)}
	for i := range p.queues {
		p.queues[i] = make(chan scheduling.Effect, queuedPerWorker)
	}
	return p
}

func (p *Pool) hasExtenders() bool { return p.executor.o.Extenders != nil }

// Run executes effects until ctx is done and all requests have returned.
func (p *Pool) Run(ctx context.Context) {
	var wg sync.WaitGroup
	for _, q := range p.queues {
		wg.Go(func() { p.worker(ctx, q) })
		if p.hasExtenders() {
			wg.Go(func() { p.worker(ctx, p.extenderQueue) })
		}
	}
	wg.Wait()
}

func (p *Pool) worker(ctx context.Context, q <-chan scheduling.Effect) {
	for {
		select {
		case <-ctx.Done():
			return
		case e := <-q:
			if ctx.Err() != nil {
				return
			}
			out := p.executor.Execute(ctx, e)
			p.pending.Add(-1) // before onOutcome, which may wake a caller that waits for capacity
			p.onOutcome(out)
		}
	}
}

// Submit enqueues effects. It blocks while the queues are full, until ctx is done.
func (p *Pool) Submit(ctx context.Context, effects []scheduling.Effect) {
	for _, e := range effects {
		q := p.queues[maphash.String(p.seed, PodOf(e).UID)%uint64(len(p.queues))]
		if isExtenderCall(e) && p.hasExtenders() {
			q = p.extenderQueue
		}
		p.pending.Add(1)
		select {
		case q <- e:
		case <-ctx.Done():
			p.pending.Add(-1)
			return
		}
	}
}

// Pending returns how many effects have no outcome yet.
func (p *Pool) Pending() int { return int(p.pending.Load()) }

// Capacity returns how many more effects can be submitted without building up a backlog.
func (p *Pool) Capacity() int {
	return max(0, len(p.queues)*queuedPerWorker/4-int(p.pending.Load()))
}

// isExtenderCall reports whether an effect calls extenders. Apart from reports it is the only effect of its pod in
// flight, so it needs no ordering with other effects.
func isExtenderCall(e scheduling.Effect) bool {
	switch e.(type) {
	case scheduling.CallExtenders, scheduling.CallPreemptionExtenders:
		return true
	}
	return false
}
