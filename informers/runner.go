package informers

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/berthproject/berth/engine/descheduling"
	"github.com/berthproject/berth/engine/scheduling"
)

// Events delivers the events of a cluster to a synchronous runner. A Source implements it, and so do the watches of an
// actor in the simulator.
type Events interface {
	// Start lists and watches in the background, and returns when all kinds are listed. stop ends the watches.
	Start(ctx context.Context) (stop func(), err error)
	// Take returns the collected events, and reuses next as the next buffer.
	Take(next []scheduling.Event) []scheduling.Event
	// Wait returns shortly after there are events, or when d has passed, or when ctx is done.
	Wait(ctx context.Context, d time.Duration)
}

// Events for the descheduler, see Source.ObserveDetails.
type (
	// PodDetails is what only descheduling reads of a pod.
	PodDetails struct {
		UID     string
		Details *descheduling.PodDetails
	}
	// NodeReadiness reports whether a node has a Ready condition that is not True.
	NodeReadiness struct {
		UID      string
		NotReady bool
	}
	// KindServed reports whether an optional kind is served and may be read.
	KindServed struct {
		Kind   string
		Served bool
	}
)

const (
	// BatchWindow is how long Wait collects events after the first one.
	BatchWindow = 50 * time.Millisecond
	// syncTimeout bounds the initial lists.
	syncTimeout = 2 * time.Minute
)

// Start implements Events.
func (s *Source) Start(ctx context.Context) (stop func(), err error) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.Run(ctx)
	}()
	stop = func() {
		cancel()
		<-done
	}
	timer := time.NewTimer(syncTimeout)
	defer timer.Stop()
	select {
	case <-s.Synced():
		return stop, nil
	case <-timer.C:
		err = fmt.Errorf("syncing the caches: %s not listed within %v: check that you may list and watch them", strings.Join(s.Unsynced(), ", "), syncTimeout)
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	stop()
	return nil, err
}

// Wait implements Events.
func (s *Source) Wait(ctx context.Context, d time.Duration) {
	select {
	case <-s.Ready():
		d = BatchWindow
	case <-time.After(d):
		return
	case <-ctx.Done():
		return
	}
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}
