package leaderelection

import (
	"context"
	"time"

	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// lock reports successful writes of the Lease to the gate.
type lock struct {
	resourcelock.Interface
	gate *Gate
}

// Create implements resourcelock.Interface.
func (l *lock) Create(ctx context.Context, r resourcelock.LeaderElectionRecord) error {
	sent := time.Now()
	return l.recordResult(sent, r, l.Interface.Create(ctx, r))
}

// Update implements resourcelock.Interface.
func (l *lock) Update(ctx context.Context, r resourcelock.LeaderElectionRecord) error {
	sent := time.Now()
	return l.recordResult(sent, r, l.Interface.Update(ctx, r))
}

func (l *lock) recordResult(sent time.Time, r resourcelock.LeaderElectionRecord, err error) error {
	switch {
	case err != nil:
	case r.HolderIdentity == l.Identity():
		l.gate.recordRenewal(sent)
	default: // released
		l.gate.closePermanently()
	}
	return err
}
