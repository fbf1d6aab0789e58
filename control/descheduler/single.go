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

	"github.com/berthproject/berth/control/lead"
	"github.com/berthproject/berth/control/twin"
)

// Single is a single run's claim to be the only one: it holds the Lease that deschedulers compete for as long as it works.
type Single struct {
	Election lead.Election
	// Leases is for the Lease alone; what the run sends goes through Gate.
	Leases kubernetes.Interface
	Gate   *lead.Gate
	// Patience is how long another single run is waited for; 0: until it has ended.
	Patience time.Duration
	Host     string // of the API server, for words
	// Say is told who is waited for, and how long at most if he is dead; may be nil.
	Say func(line string)
}

// onceMark marks the Lease of a single run, which ends by itself: its holder's identity begins so. No host name does.
const onceMark = "once_"

// OnceElection is a single run's: its Lease runs out soon after it was killed.
func OnceElection() lead.Election { return lead.Default(Component) }

// Run calls work while it holds the Lease, and gives it back. Another single run is waited for, and so is the Lease of one that
// was killed. As soon as anybody else holds it, who runs for good for all that is known, Run returns a *twin.Busy.
func (s *Single) Run(ctx context.Context, work func(context.Context) error) error {
	e := s.Election
	e.Identity = onceMark + cmp.Or(e.Identity, lead.Anyone())
	if err := s.alone(ctx); err != nil && !passes(err) {
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
	if s.Patience > 0 {
		defer time.AfterFunc(s.Patience, func() { giveUp(nil) }).Stop()
	}
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		s.watch(waits, &e, &over, giveUp)
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
	if why := context.Cause(waits); errors.As(why, new(*twin.Busy)) {
		return why
	}
	return cmp.Or(s.alone(ctx), fmt.Errorf("the Lease %s/%s could not be had in %v", e.Namespace, e.Name, s.Patience))
}

// watch looks who holds the Lease while it is waited for.
func (s *Single) watch(ctx context.Context, e *lead.Election, over *atomic.Bool, giveUp func(error)) {
	for told := ""; !over.Load(); {
		var busy *twin.Busy
		switch err := s.alone(ctx); {
		case !errors.As(err, &busy) || busy.Holder == e.Identity: // what cannot be seen is looked at again
		case !passes(err):
			giveUp(err)
			return
		case busy.Holder != told && s.Say != nil:
			told = busy.Holder
			s.Say(fmt.Sprintf("waiting for the Lease %s/%s of %s, which ends in %.0f s unless he renews it", e.Namespace, e.Name, told, busy.Lasts.Seconds()))
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(e.RetryPeriod):
		}
	}
}

// passes says that who holds the Lease is a single run, which ends.
func passes(err error) bool {
	var busy *twin.Busy
	return errors.As(err, &busy) && strings.HasPrefix(busy.Holder, onceMark)
}

func (s *Single) alone(ctx context.Context) error {
	return twin.Alone(ctx, s.Leases, Component, s.Host, s.Election.Namespace, s.Election.Name)
}
