package store

import (
	"context"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/apiserver/pkg/storage"
	"k8s.io/utils/buffer"
)

// backlogLimit is how many events may wait for one watch. They are shared by all watches: one
// more costs a pointer, and keeps the event from being freed.
const backlogLimit = 4096

// atOnce is how many of them the reader finds ready: a watch is flushed to the client when there is none.
const atOnce = 128

// sleepAfter is how long a reader may pause when the cache has ended its watch, before what waits is dropped: it begins
// anew from the last event that it had.
const sleepAfter = 10 * time.Second

// lenient is a watch cache that is patient with its watches. The cache ends a watch whose reader
// is some ten events behind (what a young cluster has in a seventy-fifth of its short history) for
// a tenth of a second, so that a burst on a busy machine makes every client begin anew, again and
// again, when it should least.
type lenient struct{ storage.Interface }

func (l lenient) Watch(ctx context.Context, key string, opts storage.ListOptions) (watch.Interface, error) {
	w, err := l.Interface.Watch(ctx, key, opts)
	if err != nil {
		return nil, err
	}
	return newBacklog(w), nil
}

// backlog is a watch whose reader may be up to backlogLimit events behind.
type backlog struct {
	from    watch.Interface
	out     chan watch.Event
	stopped chan struct{}
	stop    func()
}

func newBacklog(from watch.Interface) *backlog {
	b := &backlog{from: from, out: make(chan watch.Event, atOnce), stopped: make(chan struct{})}
	b.stop = sync.OnceFunc(func() {
		close(b.stopped)
		from.Stop()
	})
	go b.run()
	return b
}

// ResultChan is closed after the last event, or after Stop.
func (b *backlog) ResultChan() <-chan watch.Event { return b.out }

// Stop ends the watch; but for those that are ready, events that wait are dropped.
func (b *backlog) Stop() { b.stop() }

func (b *backlog) run() {
	defer close(b.out)
	waiting := buffer.NewRing[watch.Event](buffer.RingOptions{InitialSize: 4, NormalSize: 4})
	in := b.from.ResultChan()
	var next watch.Event
	some := false // next is one
	var asleep <-chan time.Time
	for some || in != nil {
		out, more := b.out, in
		if !some {
			out = nil
		}
		if waiting.Len() >= backlogLimit {
			more = nil
		}
		select {
		case e, open := <-more:
			if !open {
				in, asleep = nil, time.After(sleepAfter)
				continue
			}
			waiting.WriteOne(e)
			if some {
				continue
			}
		case out <- next:
			if in == nil {
				asleep = time.After(sleepAfter)
			}
		case <-asleep:
			return
		case <-b.stopped:
			return
		}
		next, some = waiting.ReadOne()
	}
}
