package leaderelection

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"k8s.io/client-go/kubernetes"

	"github.com/berthproject/berth/controllers/upstreamguard"
)

// OneShot makes a single run of a component exclusive: it holds the Lease of the component's leader election while it
// works.
type OneShot struct {
	Component string
	Election  Election
	// Leases accesses the Lease only; other requests pass Gate.
	Leases kubernetes.Interface
	Gate   *Gate
	// Timeout bounds the wait for another single run; 0 means no limit.
	Timeout time.Duration
	Host    string // address of the API server, for messages
	// OnProgress receives a message with the current holder of the Lease and the time until the Lease
	// expires. It may be nil.
	OnProgress func(message string)
}

// oneShotPrefix is the prefix of the holder identity of a single run. No host name starts with
// it.
const oneShotPrefix = "once_"

// Run calls work while it holds the Lease and releases it afterwards. It waits for other
// single runs and for expiring Leases. If a long-running component holds the Lease, it
// returns an *upstreamguard.AlreadyRunningError.
func (s *OneShot) Run(ctx context.Context, work func(context.Context) error) error {
	e := s.Election
	e.Identity = oneShotPrefix + cmp.Or(e.Identity, NewIdentity())
	if err := s.checkHolder(ctx); err != nil && !isOneShot(err) {
		return err
	}
	waitCtx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var waitEnded atomic.Bool // set once: either the Lease is acquired or the wait has ended
	endWait := func(reason error) {
		if waitEnded.CompareAndSwap(false, true) {
			stop(reason)
		}
	}
	if s.Timeout > 0 {
		defer time.AfterFunc(s.Timeout, func() { endWait(nil) }).Stop()
	}
	watcherDone := make(chan struct{})
	go func() {
		defer close(watcherDone)
		s.watchHolder(waitCtx, &e, &waitEnded, endWait)
	}()
	defer func() { stop(nil); <-watcherDone }()
	started := false
	err := e.Run(waitCtx, s.Leases, s.Gate, func(ctx context.Context) error {
		if started = waitEnded.CompareAndSwap(false, true); !started {
			return nil
		}
		return work(ctx)
	})
	if started || err != nil || ctx.Err() != nil {
		return err
	}
	if reason := context.Cause(waitCtx); errors.As(reason, new(*upstreamguard.AlreadyRunningError)) {
		return reason
	}
	return cmp.Or(s.checkHolder(ctx), fmt.Errorf("Lease %s/%s was not acquired within %v", e.Namespace, e.Name, s.Timeout))
}

// watchHolder checks the holder of the Lease until the wait ends. It ends the wait if a long-running component holds
// the Lease.
func (s *OneShot) watchHolder(ctx context.Context, e *Election, waitEnded *atomic.Bool, endWait func(error)) {
	for lastHolder := ""; !waitEnded.Load(); {
		var running *upstreamguard.AlreadyRunningError
		switch err := s.checkHolder(ctx); {
		case !errors.As(err, &running) || running.Holder == e.Identity: // the holder is unknown or this run
		case !isOneShot(err):
			endWait(err)
			return
		case running.Holder != lastHolder && s.OnProgress != nil:
			lastHolder = running.Holder
			s.OnProgress(fmt.Sprintf("waiting for Lease %s/%s held by %s, which expires in %.0f s unless renewed", e.Namespace, e.Name, lastHolder, running.LeaseDuration.Seconds()))
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(e.RetryPeriod):
		}
	}
}

// isOneShot reports whether the holder of the Lease is a single run.
func isOneShot(err error) bool {
	var running *upstreamguard.AlreadyRunningError
	return errors.As(err, &running) && strings.HasPrefix(running.Holder, oneShotPrefix)
}

func (s *OneShot) checkHolder(ctx context.Context) error {
	return upstreamguard.CheckNotRunning(ctx, s.Leases, s.Component, s.Host, s.Election.Namespace, s.Election.Name)
}
