package store

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

const (
	// livenessTimeout is how long etcd may take to respond until it counts as dead. Pods that write much to its disk
	// delay it by seconds, and a restart of the server would not help.
	livenessTimeout = 10 * time.Second
	// livenessWait bounds how long CheckLive blocks.
	livenessWait = 200 * time.Millisecond
)

// liveness checks whether etcd responds at all. Callers share the request to etcd that is in progress.
type liveness struct {
	request func(context.Context) error // to etcd

	mu      sync.Mutex
	running chan struct{} // closed when the current request ends; nil if there is none
	last    error         // result of the last request that ended
}

// check waits for a request to etcd, but at most for livenessWait. If the request is still in progress then, check
// returns the result of the previous one.
func (l *liveness) check(ctx context.Context) error {
	ended := l.start()
	wait := time.NewTimer(livenessWait)
	defer wait.Stop()
	select {
	case <-ended:
	case <-wait.C:
	case <-ctx.Done():
		return ctx.Err()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.last
}

// start starts a request unless one is in progress. It returns a channel that is closed when the request ends.
func (l *liveness) start() <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.running == nil {
		l.running = make(chan struct{})
		go l.run(l.running)
	}
	return l.running
}

func (l *liveness) run(ended chan struct{}) {
	ctx, cancel := context.WithTimeout(context.Background(), livenessTimeout)
	defer cancel()
	err := l.request(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		err = fmt.Errorf("no response within %v: %w", livenessTimeout, err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.running, l.last = nil, err
	close(ended)
}
