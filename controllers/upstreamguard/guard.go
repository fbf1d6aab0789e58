package upstreamguard

import (
	"context"
	"errors"
	"fmt"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// LeaseNamespace and LeaseName identify the Lease of kube-controller-manager.
const (
	LeaseNamespace = metav1.NamespaceSystem
	LeaseName      = "kube-controller-manager"
)

const (
	// maxClockSkew is the largest clock difference that Check tolerates.
	maxClockSkew = 10 * time.Minute
	// pollInterval is the interval between two reads of the Lease.
	pollInterval = 5 * time.Second
	// defaultLeaseDuration applies to a Lease without a duration. It is the default of Kubernetes components.
	defaultLeaseDuration = 15 * time.Second
)

// Guard prevents controllers from running concurrently with the same upstream controllers.
type Guard struct {
	Client      kubernetes.Interface
	Host        string   // of the API server, for messages
	Controllers []string // controllers to run
	UpstreamOff []string // controllers whose upstream counterparts are switched off
	// OnWait is called before the guard checks for about d whether a Lease that may have expired is
	// renewed. It may be nil.
	OnWait func(holder string, d time.Duration)

	lastLease *coordinationv1.Lease // at the last read; nil: not read yet
}

// Check returns nil if the controllers may start, and a *ConflictError if an upstream counterpart may be running. It
// returns another error if the Lease cannot be read.
func (g *Guard) Check(ctx context.Context) error {
	if len(conflictsOf(g.Controllers, g.UpstreamOff)) == 0 {
		return nil
	}
	l, err := g.lease(ctx)
	if err != nil {
		return err
	}
	g.lastLease = l
	holder, duration, age := readLease(l)
	switch {
	case holder == "" || age > maxClockSkew+duration:
		return nil
	case age < duration:
		return g.conflictError(holder)
	}
	if g.OnWait != nil {
		g.OnWait(holder, duration)
	}
	for end := time.Now().Add(duration + time.Second); time.Now().Before(end); {
		if err := sleep(ctx, time.Second); err != nil {
			return err
		}
		if err := g.Recheck(ctx); err != nil {
			return err
		}
	}
	return nil
}

// Recheck returns a *ConflictError if the Lease was renewed since the last read, regardless of clocks.
func (g *Guard) Recheck(ctx context.Context) error {
	if len(conflictsOf(g.Controllers, g.UpstreamOff)) == 0 {
		return nil
	}
	latest, err := g.lease(ctx)
	if err != nil {
		return err
	}
	previous := g.lastLease
	g.lastLease = latest
	if holder, _, _ := readLease(latest); previous != nil && holder != "" && !latest.Spec.RenewTime.Equal(previous.Spec.RenewTime) {
		return g.conflictError(holder)
	}
	return nil
}

// Watch returns a *ConflictError soon after a conflicting kube-controller-manager starts, or nil when ctx is done.
// It retries read errors.
func (g *Guard) Watch(ctx context.Context) error {
	for {
		var conflict *ConflictError
		if err := g.Recheck(ctx); errors.As(err, &conflict) {
			return err
		}
		if sleep(ctx, pollInterval) != nil {
			return nil
		}
	}
}

func (g *Guard) conflictError(holder string) error {
	return &ConflictError{Controllers: conflictsOf(g.Controllers, g.UpstreamOff), Holder: holder, Host: g.Host}
}

// lease reads the Lease. It returns an empty one if there is none.
func (g *Guard) lease(ctx context.Context) (*coordinationv1.Lease, error) {
	l, err := g.Client.CoordinationV1().Leases(LeaseNamespace).Get(ctx, LeaseName, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return &coordinationv1.Lease{}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("checking for a kube-controller-manager at %s: %w", g.Host, err)
	}
	return l, nil
}

// readLease returns the holder of a Lease, its duration, and the time since its last renewal.
func readLease(l *coordinationv1.Lease) (holder string, duration, age time.Duration) {
	duration = defaultLeaseDuration
	if s := l.Spec.LeaseDurationSeconds; s != nil && *s > 0 {
		duration = time.Duration(*s) * time.Second
	}
	if l.Spec.HolderIdentity == nil || l.Spec.RenewTime == nil {
		return "", duration, 0
	}
	return *l.Spec.HolderIdentity, duration, time.Since(l.Spec.RenewTime.Time)
}

func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}
