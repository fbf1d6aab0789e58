package twin

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

// Namespace and Name are of the Lease that kube-controller-manager holds.
const (
	Namespace = metav1.NamespaceSystem
	Name      = "kube-controller-manager"
)

const (
	// forgotten is how old a renewal is that no clock is wrong enough for.
	forgotten = 10 * time.Minute
	// every is how often the Lease is looked at.
	every = 5 * time.Second
	// fallback is how long a Lease lasts that does not say it: the stock components' duration.
	fallback = 15 * time.Second
)

// Guard keeps loops from running beside their twins.
type Guard struct {
	Client kubernetes.Interface
	Host   string   // of the API server, for words
	Loops  []string // to be run
	Off    []string // those whose twins are said to be off
	// Waits is told that a Lease which looks expired is watched for a while. May be nil.
	Waits func(holder string, d time.Duration)

	seen *coordinationv1.Lease // at the last look
}

// Check returns nil when the loops may start, a *Refusal when a twin of one may be running, or why
// that cannot be said.
func (g *Guard) Check(ctx context.Context) error {
	if len(contested(g.Loops, g.Off)) == 0 {
		return nil
	}
	l, err := g.lease(ctx)
	if err != nil {
		return err
	}
	g.seen = l
	holder, lasts, age := read(l)
	switch {
	case holder == "" || age > forgotten+lasts:
		return nil
	case age < lasts:
		return g.refusal(holder)
	}
	if g.Waits != nil {
		g.Waits(holder, lasts)
	}
	for end := time.Now().Add(lasts + time.Second); time.Now().Before(end); {
		if err := pause(ctx, time.Second); err != nil {
			return err
		}
		if err := g.Again(ctx); err != nil {
			return err
		}
	}
	return nil
}

// Again refuses if somebody has renewed the Lease since the last look, whatever the clocks say.
func (g *Guard) Again(ctx context.Context) error {
	if len(contested(g.Loops, g.Off)) == 0 {
		return nil
	}
	now, err := g.lease(ctx)
	if err != nil {
		return err
	}
	was := g.seen
	g.seen = now
	if holder, _, _ := read(now); was != nil && holder != "" && !now.Spec.RenewTime.Equal(was.Spec.RenewTime) {
		return g.refusal(holder)
	}
	return nil
}

// Watch returns a *Refusal soon after a kube-controller-manager has come that the loops would fight, nil when
// ctx ends. What cannot be read is looked at again.
func (g *Guard) Watch(ctx context.Context) error {
	for {
		var refusal *Refusal
		if err := g.Again(ctx); errors.As(err, &refusal) {
			return err
		}
		if pause(ctx, every) != nil {
			return nil
		}
	}
}

func (g *Guard) refusal(holder string) error {
	return &Refusal{Loops: contested(g.Loops, g.Off), Holder: holder, Host: g.Host}
}

// lease reads the Lease; an empty one if there is none.
func (g *Guard) lease(ctx context.Context) (*coordinationv1.Lease, error) {
	l, err := g.Client.CoordinationV1().Leases(Namespace).Get(ctx, Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return &coordinationv1.Lease{}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("whether a kube-controller-manager runs at %s cannot be seen: %w", g.Host, err)
	}
	return l, nil
}

// read says who holds a Lease, how long it lasts, and how long ago it was renewed.
func read(l *coordinationv1.Lease) (holder string, lasts, age time.Duration) {
	lasts = fallback
	if s := l.Spec.LeaseDurationSeconds; s != nil && *s > 0 {
		lasts = time.Duration(*s) * time.Second
	}
	if l.Spec.HolderIdentity == nil || l.Spec.RenewTime == nil {
		return "", lasts, 0
	}
	return *l.Spec.HolderIdentity, lasts, time.Since(l.Spec.RenewTime.Time)
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}
