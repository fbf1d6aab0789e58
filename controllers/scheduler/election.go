package scheduler

import (
	"context"
	"fmt"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// elect takes part in the leader election until ctx is done and then releases
// the lease. Without an election this instance leads immediately.
func (s *scheduler) elect(ctx context.Context, wg *sync.WaitGroup) error {
	e := s.o.Election
	if e == nil {
		close(s.leading)
		return nil
	}
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock: &resourcelock.LeaseLock{LeaseMeta: metav1.ObjectMeta{Namespace: e.Namespace, Name: e.Name}, Client: s.leases.CoordinationV1(),
			LockConfig: resourcelock.ResourceLockConfig{Identity: s.identity}},
		LeaseDuration: e.LeaseDuration, RenewDeadline: e.RenewDeadline, RetryPeriod: e.RetryPeriod,
		Name: e.Name, ReleaseOnCancel: true,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(context.Context) { close(s.leading) },
			OnStoppedLeading: func() {
				close(s.lost)
				s.stopSending()
			},
			OnNewLeader: func(leader string) {
				s.log.Info("Leader elected", "leader", leader, "self", leader == s.identity)
			},
		},
	})
	if err != nil {
		return fmt.Errorf("scheduler: leader election: %w", err)
	}
	wg.Go(func() { elector.Run(ctx) })
	return nil
}
