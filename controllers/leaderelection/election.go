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

// Election configures leader election.
type Election struct {
	Namespace, Name string // of the Lease
	Identity        string // empty: host name and a random suffix
	LeaseDuration   time.Duration
	RenewDeadline   time.Duration
	RetryPeriod     time.Duration
	// OnNewLeader is called with each new leader and whether it is this instance. It may be nil.
	OnNewLeader func(leader string, self bool)
}

// Default returns the election for the Lease kube-system/NAME, with the durations of Kubernetes components.
func Default(name string) Election {
	return Election{Namespace: metav1.NamespaceSystem, Name: name, LeaseDuration: 15 * time.Second, RenewDeadline: 10 * time.Second, RetryPeriod: 2 * time.Second}
}

// Validate checks the Lease and the durations, with the margin that a Gate requires.
func (e *Election) Validate() error {
	if e.Namespace == "" || e.Name == "" {
		return fmt.Errorf("leader election: Lease %q in namespace %q: name and namespace are required", e.Name, e.Namespace)
	}
	return e.ValidateDurations(time.Second)
}

// ValidateDurations checks the durations. The lease duration must be at least margin longer than the renew deadline.
func (e *Election) ValidateDurations(margin time.Duration) error {
	if e.RetryPeriod <= 0 || 5*e.RenewDeadline <= 6*e.RetryPeriod || e.LeaseDuration < e.RenewDeadline+margin {
		longer := "longer"
		if margin >= time.Second {
			longer = fmt.Sprintf("at least %v longer", margin)
		}
		return fmt.Errorf("leader election: lease duration %v, renew deadline %v, retry period %v: the lease duration must be %s than the renew deadline, the renew deadline must be more than 20 %% longer than the retry period",
			e.LeaseDuration, e.RenewDeadline, e.RetryPeriod, longer)
	}
	return nil
}

// Run waits for the Lease and then calls work, whose requests must go through gate. The client leases must not go
// through the gate. Run returns the error of work, nil if ctx is done, or ErrLost. The context of work ends when the
// Lease is lost; Run waits for work to return.
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
		gate.closePermanently()
	}
	stop(ErrLost)
	_ = <-workDone
	return ErrLost
}

// NewIdentity returns a unique identity: host name and a random suffix.
func NewIdentity() string {
	host, err := os.Hostname()
	if err != nil {
		host = "berth"
	}
	return UniqueName(host)
}

// UniqueName returns a name with a random suffix, which no other process has.
func UniqueName(name string) string { return name + "_" + rand.String(8) }

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
		return nil, fmt.Errorf("configuring leader election: %w", err)
	}
	return elector, nil
}
