package descheduler

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/clock"

	"github.com/berthproject/berth/controllers/leaderelection"
	"github.com/berthproject/berth/controllers/upstreamguard"
)

// OneShot makes a single run exclusive: it holds the Lease of the descheduler's leader
// election while it works.
type OneShot struct {
	Election leaderelection.Election
	// Leases accesses the Lease only; other requests pass Gate.
	Leases kubernetes.Interface
	Gate   *leaderelection.Gate
	// Timeout bounds the wait for another single run; 0 means no limit.
	Timeout time.Duration
	Host    string                     // of the API server, for messages
	Clock   clock.WithDelayedExecution // nil: the wall clock
	// OnProgress receives which holder is waited for, and for how long at most; may be nil.
	OnProgress func(line string)
}

// oneShotPrefix is the prefix of the holder identity of a single run. No host name starts with
// it.
const oneShotPrefix = "once_"

// OneShotElection returns the election of a single run. Its Lease expires soon after the
// process is killed.
func OneShotElection() leaderelection.Election { return leaderelection.Default(Component) }

// Run calls work while it holds the Lease and releases it afterwards. It waits for other
// single runs and for expiring Leases. If a long-running descheduler holds the Lease, it
// returns an *upstreamguard.Busy.
func (s *OneShot) Run(ctx context.Context, work func(context.Context) error) error {
	if s.Clock == nil {
		s.Clock = clock.RealClock{}
	}
	e := s.Election
	e.Identity = oneShotPrefix + cmp.Or(e.Identity, leaderelection.NewIdentity())
	if err := s.checkHolder(ctx); err != nil && !isOneShot(err) {
		return err
	}
	waits, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var over atomic.Bool // set once: either the Lease is acquired or the wait has ended
	giveUp := func(reason error) {
		if over.CompareAndSwap(false, true) {
			stop(reason)
		}
	}
	if s.Timeout > 0 {
		defer s.Clock.AfterFunc(s.Timeout, func() { giveUp(nil) }).Stop()
	}
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		s.watchHolder(waits, &e, &over, giveUp)
	}()
	defer func() { stop(nil); <-watched }()
	began := false
	err := e.Run(waits, s.Leases, s.Gate, func(ctx context.Context) error {
		if began = over.CompareAndSwap(false, true); !began {
			return nil
		}
		return work(ctx)
	})
	if began || err != nil || ctx.Err() != nil {
		return err
	}
	if reason := context.Cause(waits); errors.As(reason, new(*upstreamguard.AlreadyRunningError)) {
		return reason
	}
	return cmp.Or(s.checkHolder(ctx), fmt.Errorf("Lease %s/%s was not acquired within %v", e.Namespace, e.Name, s.Timeout))
}

// watchHolder checks the holder of the Lease while waiting for it.
func (s *OneShot) watchHolder(ctx context.Context, e *leaderelection.Election, over *atomic.Bool, giveUp func(error)) {
	for lastMessage := ""; !over.Load(); {
		var busy *upstreamguard.AlreadyRunningError
		switch err := s.checkHolder(ctx); {
		case !errors.As(err, &busy) || busy.Holder == e.Identity: // unknown; check again
		case !isOneShot(err):
			giveUp(err)
			return
		case busy.Holder != lastMessage && s.OnProgress != nil:
			lastMessage = busy.Holder
			s.OnProgress(fmt.Sprintf("waiting for Lease %s/%s held by %s, which expires in %.0f s unless renewed", e.Namespace, e.Name, lastMessage, busy.LeaseDuration.Seconds()))
		}
		select {
		case <-ctx.Done():
			return
		case <-s.Clock.After(e.RetryPeriod):
		}
	}
}

// isOneShot reports whether the holder of the Lease is a single run.
func isOneShot(err error) bool {
	var busy *upstreamguard.AlreadyRunningError
	return errors.As(err, &busy) && strings.HasPrefix(busy.Holder, oneShotPrefix)
}

func (s *OneShot) checkHolder(ctx context.Context) error {
	return upstreamguard.CheckNotRunning(ctx, s.Leases, Component, s.Host, s.Election.Namespace, s.Election.Name)
}
