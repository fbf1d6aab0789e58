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

// LeaseNamespace and Name are of the Lease that kube-controller-manager holds.
const (
	LeaseNamespace = metav1.NamespaceSystem
	LeaseName      = "kube-controller-manager"
)

const (
	// maxClockSkew is how old a renewal is that no clock is wrong enough for.
	maxClockSkew = 10 * time.Minute
	// pollInterval is how often the Lease is looked at.
	pollInterval = 5 * time.Second
	// defaultLeaseDuration is how long a Lease lasts that does not say it: the stock components' duration.
	defaultLeaseDuration = 15 * time.Second
)

// Guard keeps loops from running beside their twins.
type Guard struct {
	Client      kubernetes.Interface
	Host        string   // of the API server, for words
	Controllers []string // to be run
	UpstreamOff []string // those whose twins are said to be off
	// OnWait is told that a Lease which looks expired is watched for a while. May be nil.
	OnWait func(holder string, d time.Duration)

	lastLease *coordinationv1.Lease // at the last look
}

// Check returns nil when the loops may start, a *Refusal when a twin of one may be running, or why
// that cannot be said.
func (g *Guard) Check(ctx context.Context) error {
	if len(conflicting(g.Controllers, g.UpstreamOff)) == 0 {
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

// Recheck refuses if somebody has renewed the Lease since the last look, whatever the clocks say.
func (g *Guard) Recheck(ctx context.Context) error {
	if len(conflicting(g.Controllers, g.UpstreamOff)) == 0 {
		return nil
	}
	now, err := g.lease(ctx)
	if err != nil {
		return err
	}
	was := g.lastLease
	g.lastLease = now
	if holder, _, _ := readLease(now); was != nil && holder != "" && !now.Spec.RenewTime.Equal(was.Spec.RenewTime) {
		return g.conflictError(holder)
	}
	return nil
}

// Watch returns a *Refusal soon after a kube-controller-manager has come that the loops would fight, nil when
// ctx ends. What cannot be read is looked at again.
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
	return &ConflictError{Controllers: conflicting(g.Controllers, g.UpstreamOff), Holder: holder, Host: g.Host}
}

// lease reads the Lease; an empty one if there is none.
func (g *Guard) lease(ctx context.Context) (*coordinationv1.Lease, error) {
	l, err := g.Client.CoordinationV1().Leases(LeaseNamespace).Get(ctx, LeaseName, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return &coordinationv1.Lease{}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("whether a kube-controller-manager runs at %s cannot be seen: %w", g.Host, err)
	}
	return l, nil
}

// readLease says who holds a Lease, how long it lasts, and how long ago it was renewed.
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
