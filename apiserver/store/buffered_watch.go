package store

import (
	"context"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/apiserver/pkg/storage"
	"k8s.io/utils/buffer"
)

// watchBufferLimit is how many events may wait for one watch. They are shared by all watches: one
// more costs a pointer, and keeps the event from being freed.
const watchBufferLimit = 4096

// resultChanSize is how many of them the reader finds ready: a watch is flushed to the client when there is none.
const resultChanSize = 128

// idleReaderTimeout is how long a reader may pause when the cache has ended its watch, before what waits is dropped: it begins
// anew from the last event that it had.
const idleReaderTimeout = 10 * time.Second

// bufferedWatchStorage is a watch cache that is patient with its watches. The cache ends a watch whose reader
// is some ten events behind (what a young cluster has in a seventy-fifth of its short history) for
// a tenth of a second, so that a burst on a busy machine makes every client begin anew, again and
// again, when it should least.
type bufferedWatchStorage struct{ storage.Interface }

func (l bufferedWatchStorage) Watch(ctx context.Context, key string, opts storage.ListOptions) (watch.Interface, error) {
	w, err := l.Interface.Watch(ctx, key, opts)
	if err != nil {
		return nil, err
	}
	return newBufferedWatch(w), nil
}

// bufferedWatch is a watch whose reader may be up to backlogLimit events behind.
type bufferedWatch struct {
	source  watch.Interface
	out     chan watch.Event
	stopped chan struct{}
	stop    func()
}

func newBufferedWatch(from watch.Interface) *bufferedWatch {
	b := &bufferedWatch{source: from, out: make(chan watch.Event, resultChanSize), stopped: make(chan struct{})}
	b.stop = sync.OnceFunc(func() {
		close(b.stopped)
		from.Stop()
	})
	go b.run()
	return b
}

// ResultChan is closed after the last event, or after Stop.
func (b *bufferedWatch) ResultChan() <-chan watch.Event { return b.out }

// Stop ends the watch; but for those that are ready, events that wait are dropped.
func (b *bufferedWatch) Stop() { b.stop() }

func (b *bufferedWatch) run() {
	defer close(b.out)
	queue := buffer.NewRing[watch.Event](buffer.RingOptions{InitialSize: 4, NormalSize: 4})
	in := b.source.ResultChan()
	var next watch.Event
	hasNext := false // next is one
	var idle <-chan time.Time
	for hasNext || in != nil {
		out, more := b.out, in
		if !hasNext {
			out = nil
		}
		if queue.Len() >= watchBufferLimit {
			more = nil
		}
		select {
		case e, open := <-more:
			if !open {
				in, idle = nil, time.After(idleReaderTimeout)
				continue
			}
			queue.WriteOne(e)
			if hasNext {
				continue
			}
		case out <- next:
			if in == nil {
				idle = time.After(idleReaderTimeout)
			}
		case <-idle:
			return
		case <-b.stopped:
			return
		}
		next, hasNext = queue.ReadOne()
	}
}
