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

	"github.com/berthproject/berth/controllers/leaderelection"
	"github.com/berthproject/berth/controllers/upstreamguard"
)

// OneShot is a single run's claim to be the only one: it holds the Lease that deschedulers compete for as long as it works.
type OneShot struct {
	Election leaderelection.Election
	// Leases is for the Lease alone; what the run sends goes through Gate.
	Leases kubernetes.Interface
	Gate   *leaderelection.Gate
	// Timeout is how long another single run is waited for; 0: until it has ended.
	Timeout time.Duration
	Host    string // of the API server, for words
	// OnProgress is told who is waited for, and how long at most if he is dead; may be nil.
	OnProgress func(line string)
}

// oneShotPrefix marks the Lease of a single run, which ends by itself: its holder's identity begins so. No host name does.
const oneShotPrefix = "once_"

// OneShotElection is a single run's: its Lease runs out soon after it was killed.
func OneShotElection() leaderelection.Election { return leaderelection.Default(Component) }

// Run calls work while it holds the Lease, and gives it back. Another single run is waited for, and so is the Lease of one that
// was killed. As soon as anybody else holds it, who runs for good for all that is known, Run returns a *twin.Busy.
func (s *OneShot) Run(ctx context.Context, work func(context.Context) error) error {
	e := s.Election
	e.Identity = oneShotPrefix + cmp.Or(e.Identity, leaderelection.NewIdentity())
	if err := s.checkHolder(ctx); err != nil && !isOneShot(err) {
		return err
	}
	waits, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var over atomic.Bool // the wait: it has the Lease, or has given up; whichever is first
	giveUp := func(why error) {
		if over.CompareAndSwap(false, true) {
			stop(why)
		}
	}
	if s.Timeout > 0 {
		defer time.AfterFunc(s.Timeout, func() { giveUp(nil) }).Stop()
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
	if why := context.Cause(waits); errors.As(why, new(*upstreamguard.AlreadyRunningError)) {
		return why
	}
	return cmp.Or(s.checkHolder(ctx), fmt.Errorf("the Lease %s/%s could not be had in %v", e.Namespace, e.Name, s.Timeout))
}

// watchHolder looks who holds the Lease while it is waited for.
func (s *OneShot) watchHolder(ctx context.Context, e *leaderelection.Election, over *atomic.Bool, giveUp func(error)) {
	for lastMessage := ""; !over.Load(); {
		var busy *upstreamguard.AlreadyRunningError
		switch err := s.checkHolder(ctx); {
		case !errors.As(err, &busy) || busy.Holder == e.Identity: // what cannot be seen is looked at again
		case !isOneShot(err):
			giveUp(err)
			return
		case busy.Holder != lastMessage && s.OnProgress != nil:
			lastMessage = busy.Holder
			s.OnProgress(fmt.Sprintf("waiting for the Lease %s/%s of %s, which ends in %.0f s unless he renews it", e.Namespace, e.Name, lastMessage, busy.LeaseDuration.Seconds()))
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(e.RetryPeriod):
		}
	}
}

// isOneShot says that who holds the Lease is a single run, which ends.
func isOneShot(err error) bool {
	var busy *upstreamguard.AlreadyRunningError
	return errors.As(err, &busy) && strings.HasPrefix(busy.Holder, oneShotPrefix)
}

func (s *OneShot) checkHolder(ctx context.Context) error {
	return upstreamguard.CheckNotRunning(ctx, s.Leases, Component, s.Host, s.Election.Namespace, s.Election.Name)
}
