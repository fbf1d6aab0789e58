package scheduler

import (
	"context"
	"fmt"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// elect takes part in the election until the context ends; then the lease is
// given up. Without an election this copy leads at once.
func (s *shell) elect(ctx context.Context, wg *sync.WaitGroup) error {
	e := s.o.Election
	if e == nil {
		close(s.leading)
		return nil
	}
	leading := s.leading // the loop sets its own to nil
	identity := e.Identity
	if identity == "" {
		identity = instance() + "_" + rand.String(8)
	}
	cfg := rest.CopyConfig(s.o.Config) // a connection of its own: no queue of requests may delay a renewal
	cfg.QPS = -1
	cfg.Timeout = e.RenewDeadline / 2
	client, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		return err
	}
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock: &resourcelock.LeaseLock{LeaseMeta: metav1.ObjectMeta{Namespace: e.Namespace, Name: e.Name}, Client: client.CoordinationV1(),
			LockConfig: resourcelock.ResourceLockConfig{Identity: identity}},
		LeaseDuration: e.LeaseDuration, RenewDeadline: e.RenewDeadline, RetryPeriod: e.RetryPeriod,
		Name: e.Name, ReleaseOnCancel: true,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(context.Context) { close(leading) },
			OnStoppedLeading: func() {
				close(s.lost)
				s.stopSending()
			},
			OnNewLeader: func(leader string) {
				s.log.Info("leader elected", "leader", leader, "me", leader == identity)
			},
		},
	})
	if err != nil {
		return fmt.Errorf("scheduler: leader election: %w", err)
	}
	wg.Go(func() { elector.Run(ctx) })
	return nil
}
