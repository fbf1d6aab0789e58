package runner

import (
	"context"
	"sync"
	"time"

	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"
)

// Concurrently calls all parts at the same time and waits until each has returned.
func Concurrently(parts ...func()) {
	var wg sync.WaitGroup
	for _, part := range parts {
		wg.Go(part)
	}
	wg.Wait()
}

// ForEach calls f with the numbers from 0 to n-1, at most limit at the same time, and waits until all calls have
// returned.
func ForEach(n, limit int, f func(i int)) {
	var wg sync.WaitGroup
	slots := make(chan struct{}, limit)
	for i := range n {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			f(i)
		})
	}
	wg.Wait()
}

// StartInformer runs an informer in the background until ctx is done.
func StartInformer(ctx context.Context, informer cache.SharedInformer) {
	go informer.RunWithContext(ctx)
}

// Every calls f at once, and again each time that period has passed since the last call ended, until ctx is done.
func Every(ctx context.Context, c clock.Clock, period time.Duration, f func(context.Context)) {
	for ctx.Err() == nil {
		f(ctx)
		if !Sleep(ctx, c, period) {
			return
		}
	}
}

// Sleep waits for a duration. It returns false if ctx is done before.
func Sleep(ctx context.Context, c clock.Clock, d time.Duration) bool {
	timer := c.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C():
		return true
	}
}
