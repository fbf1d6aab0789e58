package store

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// TestSlowEtcdIsLive checks that the server counts as live while etcd responds slowly, that checks do not wait for etcd,
// and that an etcd that does not respond counts as dead until it responds again.
func TestSlowEtcdIsLive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var delay time.Duration
		var failure error
		requests := 0
		l := liveness{request: func(ctx context.Context) error {
			requests++
			select {
			case <-time.After(delay):
				return failure
			case <-ctx.Done():
				return ctx.Err()
			}
		}}
		// check returns the result, and fails the test if it takes longer than want.
		check := func(want time.Duration) error {
			t.Helper()
			start := time.Now()
			err := l.check(t.Context())
			if got := time.Since(start); got > want {
				t.Errorf("check took %v, want at most %v", got, want)
			}
			return err
		}
		for _, delay = range []time.Duration{0, 3 * time.Second, livenessTimeout - time.Millisecond} {
			if err := check(livenessWait); err != nil {
				t.Errorf("etcd responds after %v: got error %v, want none", delay, err)
			}
			time.Sleep(livenessTimeout)
		}

		delay = time.Hour
		for end := time.Now().Add(livenessTimeout - time.Second); time.Now().Before(end); {
			if err := check(livenessWait); err != nil {
				t.Fatalf("etcd has not responded for less than %v: got error %v, want none", livenessTimeout, err)
			}
		}
		if requests != 4 {
			t.Errorf("got %d requests to etcd, want 4: checks share a request", requests)
		}
		time.Sleep(2 * time.Second)
		if err := check(livenessWait); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("etcd has not responded for longer than %v: got error %v, want a timeout", livenessTimeout, err)
		}

		delay, failure = 0, errors.New("connection refused")
		time.Sleep(livenessTimeout)
		if err := check(0); !errors.Is(err, failure) {
			t.Errorf("etcd refuses connections: got error %v, want %v at once", err, failure)
		}
		failure = nil
		if err := check(0); err != nil {
			t.Errorf("etcd responds again: got error %v, want none", err)
		}
	})
}
