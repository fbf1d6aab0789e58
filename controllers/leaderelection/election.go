package leaderelection

import (
	"context"
	"fmt"
	"os"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// Election is how copies agree on who acts.
type Election struct {
	Namespace, Name string // of the Lease
	Identity        string // empty: host name and a random part
	LeaseDuration   time.Duration
	RenewDeadline   time.Duration
	RetryPeriod     time.Duration
	// OnNewLeader is told who leads, and whether that is this copy. May be nil.
	OnNewLeader func(leader string, identity bool)
}

// Default is the election for the Lease kube-system/NAME, with the durations of the stock components.
func Default(name string) Election {
	return Election{Namespace: metav1.NamespaceSystem, Name: name, LeaseDuration: 15 * time.Second, RenewDeadline: 10 * time.Second, RetryPeriod: 2 * time.Second}
}

// Validate says what is wrong with the durations.
func (e *Election) Validate() error {
	if e.Namespace == "" || e.Name == "" {
		return fmt.Errorf("leader election: Lease %q in namespace %q: both must be named", e.Name, e.Namespace)
	}
	if e.RetryPeriod <= 0 || 5*e.RenewDeadline <= 6*e.RetryPeriod || e.LeaseDuration < e.RenewDeadline+time.Second {
		return fmt.Errorf("leader election: lease duration %v, renew deadline %v, retry period %v: the duration must be a second longer than the deadline at least, the deadline a fifth longer than the period",
			e.LeaseDuration, e.RenewDeadline, e.RetryPeriod)
	}
	return nil
}

// Run waits for the Lease, then calls work, whose requests go through gate. leases is for the Lease alone and must
// not go through it. Run returns what work returns, nil when ctx ended, or ErrLost; work's context ends
// when the Lease is lost, and Run waits for it to return.
func (e *Election) Run(ctx context.Context, leases kubernetes.Interface, gate *Gate, work func(context.Context) error) error {
	leaseCtx, releaseLease := context.WithCancel(context.WithoutCancel(ctx))
	defer releaseLease()
	leading, electorDone := make(chan struct{}), make(chan struct{})
	elector, err := e.elector(leases, gate, leading)
	if err != nil {
		return err
	}
	go func() {
		defer close(electorDone)
		elector.Run(leaseCtx)
	}()
	defer func() { <-electorDone }()
	defer releaseLease()
	select {
	case <-ctx.Done():
		return nil
	case <-leading:
	}
	workCtx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	workDone := make(chan error, 1)
	go func() { workDone <- work(workCtx) }()
	select {
	case err := <-workDone:
		return err
	case <-gate.lost.Done():
	case <-electorDone:
		gate.shut()
	}
	stop(ErrLost)
	<-workDone
	return ErrLost
}

// NewIdentity is an identity that nobody else has: host name and a random part.
func NewIdentity() string {
	host, err := os.Hostname()
	if err != nil {
		host = "berth"
	}
	return host + "_" + rand.String(8)
}

func (e *Election) elector(leases kubernetes.Interface, gate *Gate, leading chan struct{}) (*leaderelection.LeaderElector, error) {
	identity := e.Identity
	if identity == "" {
		identity = NewIdentity()
	}
	inner := &resourcelock.LeaseLock{LeaseMeta: metav1.ObjectMeta{Namespace: e.Namespace, Name: e.Name}, Client: leases.CoordinationV1(),
		LockConfig: resourcelock.ResourceLockConfig{Identity: identity}}
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock: &lock{inner, gate}, Name: e.Name, ReleaseOnCancel: true,
		LeaseDuration: e.LeaseDuration, RenewDeadline: e.RenewDeadline, RetryPeriod: e.RetryPeriod,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(context.Context) { close(leading) },
			OnStoppedLeading: func() {},
			OnNewLeader: func(leader string) {
				if e.OnNewLeader != nil {
					e.OnNewLeader(leader, leader == identity)
				}
			},
		},
	})
	if err != nil {
		return nil, fmt.Errorf("leader election: %w", err)
	}
	return elector, nil
}
