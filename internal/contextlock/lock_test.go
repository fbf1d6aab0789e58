package contextlock

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

func TestLockWaitsUntilTheContextEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, start := New(), time.Now()
		if err := l.Lock(t.Context()); err != nil {
			t.Fatalf("locking a free lock: %v", err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := l.Lock(ctx); !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != time.Minute {
			t.Errorf("got error %v after %v, want DeadlineExceeded after 1m", err, time.Since(start))
		}
		time.AfterFunc(time.Second, l.Unlock)
		if err := l.Lock(t.Context()); err != nil || time.Since(start) != time.Minute+time.Second {
			t.Errorf("got error %v after %v, want the lock when it is free, after 1m1s", err, time.Since(start))
		}
	})
}
