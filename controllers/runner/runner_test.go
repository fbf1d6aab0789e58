package runner

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func TestEveryRepeatsUntilTheContextEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clk, start := Production(), time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), 25*time.Second)
		defer cancel()
		var calls []time.Duration
		Every(ctx, clk, 10*time.Second, func(context.Context) { calls = append(calls, clk.Since(start)) })
		if want := []time.Duration{0, 10 * time.Second, 20 * time.Second}; !slices.Equal(calls, want) {
			t.Errorf("calls at %v, want %v", calls, want)
		}
		if clk.Since(start) != 25*time.Second {
			t.Errorf("returned after %v, want 25 s", clk.Since(start))
		}
	})
}

func TestForEachLimitsConcurrency(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var seen []int
		var running, maxRunning int
		ForEach(7, 3, func(i int) {
			mu.Lock()
			running++
			maxRunning = max(maxRunning, running)
			mu.Unlock()
			Sleep(t.Context(), Production(), time.Second)
			mu.Lock()
			defer mu.Unlock()
			running--
			seen = append(seen, i)
		})
		slices.Sort(seen)
		if !slices.Equal(seen, []int{0, 1, 2, 3, 4, 5, 6}) || maxRunning != 3 {
			t.Errorf("called with %v, %d at once, want 0 to 6, 3 at once", seen, maxRunning)
		}
	})
}

func TestConcurrentlyWaitsForAllParts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		part := func(d time.Duration) func() { return func() { Sleep(t.Context(), Production(), d) } }
		Concurrently(part(time.Second), part(3*time.Second))
		if d := time.Since(start); d != 3*time.Second {
			t.Errorf("returned after %v, want 3 s", d)
		}
	})
}
