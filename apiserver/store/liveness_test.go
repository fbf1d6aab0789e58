package store

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// TestSlowEtcdIsLive checks that the server counts as live while etcd responds slowly, and that checks do not wait for
// etcd. An etcd that does not respond counts as dead until it responds.
func TestSlowEtcdIsLive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		etcd := &slowEtcd{}
		l := liveness{request: etcd.request}
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
		for _, delay := range []time.Duration{0, 3 * time.Second, livenessTimeout - time.Millisecond} {
			etcd.set(delay, nil)
			if err := check(livenessWait); err != nil {
				t.Errorf("etcd responds after %v: got error %v, want none", delay, err)
			}
			time.Sleep(livenessTimeout)
		}

		etcd.set(time.Hour, nil)
		for end := time.Now().Add(livenessTimeout - time.Second); time.Now().Before(end); {
			if err := check(livenessWait); err != nil {
				t.Fatalf("etcd has not responded for less than %v: got error %v, want none", livenessTimeout, err)
			}
		}
		if got := etcd.countRequests(); got != 4 {
			t.Errorf("got %d requests to etcd, want 4: checks share a request", got)
		}
		time.Sleep(2 * time.Second)
		if err := check(livenessWait); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("etcd has not responded for longer than %v: got error %v, want a timeout", livenessTimeout, err)
		}

		failure := errors.New("connection refused")
		etcd.set(0, failure)
		time.Sleep(livenessTimeout)
		if err := check(0); !errors.Is(err, failure) {
			t.Errorf("etcd refuses connections: got error %v, want %v at once", err, failure)
		}
		etcd.set(0, nil)
		if err := check(0); err != nil {
			t.Errorf("etcd responds again: got error %v, want none", err)
		}
	})
}

// slowEtcd is an etcd that responds after a delay.
type slowEtcd struct {
	mu       sync.Mutex
	delay    time.Duration
	failure  error
	requests int
}

func (e *slowEtcd) set(delay time.Duration, failure error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.delay, e.failure = delay, failure
}

func (e *slowEtcd) countRequests() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.requests
}

// request responds with the failure, if any.
func (e *slowEtcd) request(ctx context.Context) error {
	e.mu.Lock()
	e.requests++
	delay, failure := e.delay, e.failure
	e.mu.Unlock()
	select {
	case <-time.After(delay):
		return failure
	case <-ctx.Done():
		return ctx.Err()
	}
}
