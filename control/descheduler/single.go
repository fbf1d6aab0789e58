package descheduler

import (
	"cmp"
	"context"
	"errors"
	"fmt"
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
}

// OnceElection is a single run's: its Lease runs out soon after it was killed.
func OnceElection() lead.Election { return lead.Default(Component) }

// Run calls work while it holds the Lease, and gives it back. While a Lease that lasts longer than its own is held it returns
// a *twin.Busy at once: its holder runs for good. Another single run is waited for, and so is the Lease of one that was killed.
func (s *Single) Run(ctx context.Context, work func(context.Context) error) error {
	var busy *twin.Busy
	if err := s.alone(ctx); err != nil && (!errors.As(err, &busy) || busy.Lasts > s.Election.LeaseDuration) {
		return err
	}
	waits, stop := context.WithCancel(ctx)
	defer stop()
	stays := func() bool { return true }
	if s.Patience > 0 {
		stays = time.AfterFunc(s.Patience, stop).Stop
	}
	began := false
	err := s.Election.Run(waits, s.Leases, s.Gate, func(ctx context.Context) error {
		if began = stays(); !began {
			return nil
		}
		return work(ctx)
	})
	if began || err != nil || ctx.Err() != nil {
		return err
	}
	return cmp.Or(s.alone(ctx), fmt.Errorf("the Lease %s/%s could not be had in %v", s.Election.Namespace, s.Election.Name, s.Patience))
}

func (s *Single) alone(ctx context.Context) error {
	return twin.Alone(ctx, s.Leases, Component, s.Host, s.Election.Namespace, s.Election.Name)
}
