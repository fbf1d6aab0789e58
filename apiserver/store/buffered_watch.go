package store

import (
	"context"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/apiserver/pkg/storage"
	"k8s.io/utils/buffer"
)

// watchBufferLimit is the number of events that may be queued for a watch. All watches share the
// events, so a queued event costs a pointer and delays its garbage collection.
const watchBufferLimit = 4096

// resultChanSize is the capacity of the result channel. The watch handler flushes to the client
// when the channel is empty.
const resultChanSize = 128

// idleReaderTimeout bounds how long queued events are stored for a reader that does not read, after
// the cache has ended the watch. The reader then starts a new watch from its last event.
const idleReaderTimeout = 10 * time.Second

// bufferedWatchStorage is a watch cache that queues events for slow readers. The cache ends a watch whose reader is
// about ten events behind for 100 ms. Without the queue, a burst on a busy machine would force every client to list
// again.
type bufferedWatchStorage struct{ storage.Interface }

func (s bufferedWatchStorage) Watch(ctx context.Context, key string, opts storage.ListOptions) (watch.Interface, error) {
	w, err := s.Interface.Watch(ctx, key, opts)
	if err != nil {
		return nil, err
	}
	return newBufferedWatch(w), nil
}

// bufferedWatch is a watch whose reader may be up to watchBufferLimit events behind.
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

// ResultChan returns a channel that is closed after the last event or after Stop.
func (b *bufferedWatch) ResultChan() <-chan watch.Event { return b.out }

// Stop ends the watch. Queued events that are not in the channel yet are dropped.
func (b *bufferedWatch) Stop() { b.stop() }

func (b *bufferedWatch) run() {
	defer close(b.out)
	queue := buffer.NewRing[watch.Event](buffer.RingOptions{InitialSize: 4, NormalSize: 4})
	in := b.source.ResultChan()
	var next watch.Event
	hasNext := false // next is valid
	var idle <-chan time.Time
	for hasNext || in != nil {
		out, source := b.out, in
		if !hasNext {
			out = nil
		}
		if queue.Len() >= watchBufferLimit {
			source = nil
		}
		select {
		case e, open := <-source:
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
