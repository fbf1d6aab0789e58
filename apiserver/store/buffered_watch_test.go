package store

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
)

func event(i int) watch.Event {
	return watch.Event{Type: watch.Added, Object: &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint(i)}}}
}

// read reads n events, or until the channel is closed, checks their order and returns their number.
func read(t *testing.T, w watch.Interface, from, n int) int {
	t.Helper()
	for i := range n {
		event, ok := <-w.ResultChan()
		if !ok {
			return i
		}
		if got := event.Object.(*corev1.Pod).Name; got != fmt.Sprint(from+i) {
			t.Fatalf("got event %s, want %d", got, from+i)
		}
	}
	return n
}

func TestBufferedWatchQueuesEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const (
			capacity = resultChanSize + 1 + watchBufferLimit // in the channel, in flight and queued
			excess   = 10                                    // beyond capacity
		)
		cache := watch.NewFakeWithChanSize(capacity+excess, false)
		w := newBufferedWatch(cache)
		for i := range capacity + excess {
			cache.Action(event(i).Type, event(i).Object)
		}
		synctest.Wait()
		if unread := len(cache.ResultChan()); unread != excess {
			t.Errorf("got %d events in the cache, want %d until the reader continues", unread, excess)
		}
		read(t, w, 0, 100)
		synctest.Wait()
		if unread := len(cache.ResultChan()); unread != 0 {
			t.Errorf("got %d events in the cache after the reader continued, want 0", unread)
		}
		cache.Stop() // queued events are still readable
		if n := read(t, w, 100, capacity+excess); n != capacity+excess-100 {
			t.Errorf("got %d events after the end, want %d", n, capacity+excess-100)
		}
	})
}

// TestBufferedWatchDropsEventsOfIdleReader checks that after the cache has ended the watch, a reader that stopped
// reading does not retain events.
func TestBufferedWatchDropsEventsOfIdleReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const total = resultChanSize + 1000
		cache := watch.NewFakeWithChanSize(total, false)
		w := newBufferedWatch(cache)
		for i := range total {
			cache.Action(event(i).Type, event(i).Object)
		}
		synctest.Wait()
		time.Sleep(time.Hour) // no timeout applies before the cache ends the watch
		cache.Stop()
		read(t, w, 0, 10)
		time.Sleep(idleReaderTimeout + time.Second)
		if n := read(t, w, 10, total); n != resultChanSize {
			t.Errorf("got %d events, want the %d in the channel and then the end", n, resultChanSize)
		}
	})
}

func TestBufferedWatchStopEndsWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cache := watch.NewFake()
		w := newBufferedWatch(cache)
		for i := range 3 {
			cache.Add(event(i).Object)
		}
		read(t, w, 0, 1)
		synctest.Wait()
		w.Stop()
		w.Stop()
		synctest.Wait()
		if n := read(t, w, 1, 3); n != 2 {
			t.Errorf("got %d events after Stop, want the 2 in the channel and then the end", n)
		}
		if !cache.IsStopped() {
			t.Error("Stop did not end the watch of the cache")
		}
	})
}
