package scheduler

import (
	"context"
	"fmt"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berthproject/berth/api/v1alpha1"
)

// How often it is said that Holds are honoured, and how long that is believed.
const (
	honourEvery = 30 * time.Second
	honourLasts = 90 * time.Second
)

// honour says that this scheduler honours Holds, while it leads and they are served, which may begin and end at any time:
// in the Lease that it leads by if that has the name for it, else in one that it keeps for this alone.
func (s *shell) honour(ctx context.Context) {
	for _, known := range []<-chan struct{}{s.leading, s.feed.Synced()} {
		select {
		case <-known:
		case <-s.lost:
			return
		case <-ctx.Done():
			return
		}
	}
	tick := time.NewTicker(honourEvery)
	defer tick.Stop()
	saying, warned := false, ""
	for {
		switch {
		case s.holds.Load():
			saying = true
			if err := s.sayHonoured(ctx); err != nil && ctx.Err() == nil && err.Error() != warned {
				warned = err.Error()
				s.log.Warn("that holds are honoured is not said: a descheduler will hold no places", "lease", v1alpha1.HonourNamespace+"/"+v1alpha1.HonourLease, "error", err)
			}
		case saying:
			saying = s.unsay() != nil
		}
		select {
		case <-tick.C:
		case <-s.lost:
			return
		case <-ctx.Done():
			if saying && !s.byElection() { // the election gives its Lease back by itself
				_ = s.unsay() // that it cannot be does not matter: it runs out
			}
			return
		}
	}
}

// byElection says whether the Lease that says so is the one that copies compete for.
func (s *shell) byElection() bool {
	e := s.o.Election
	return e != nil && e.Namespace == v1alpha1.HonourNamespace && e.Name == v1alpha1.HonourLease
}

// sayHonoured brings the Lease up to date.
func (s *shell) sayHonoured(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, honourEvery/2)
	defer cancel()
	leases, names := s.leases.CoordinationV1().Leases(v1alpha1.HonourNamespace), []string{}
	for _, p := range s.o.profiles() {
		names = append(names, p.Name)
	}
	have, err := leases.Get(ctx, v1alpha1.HonourLease, metav1.GetOptions{})
	missing := apierrors.IsNotFound(err)
	if err != nil && !missing {
		return err
	}
	l := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: v1alpha1.HonourNamespace, Name: v1alpha1.HonourLease}}
	if !missing {
		l = have.DeepCopy()
	}
	if s.byElection() {
		if v1alpha1.Honour(l, names); missing || l.Annotations[v1alpha1.HonourAnnotation] == have.Annotations[v1alpha1.HonourAnnotation] {
			return nil // or it is about to be made
		}
		_, err = leases.Update(ctx, l, metav1.UpdateOptions{})
		return err
	}
	now := metav1.NewMicroTime(time.Now())
	if h := l.Spec.HolderIdentity; h != nil && *h != "" && *h != s.identity && l.Spec.RenewTime != nil && l.Spec.LeaseDurationSeconds != nil &&
		now.Before(&metav1.MicroTime{Time: l.Spec.RenewTime.Add(time.Duration(*l.Spec.LeaseDurationSeconds) * time.Second)}) {
		return fmt.Errorf("another scheduler, %s, holds it", *h)
	}
	l.Spec = coordinationv1.LeaseSpec{HolderIdentity: &s.identity, LeaseDurationSeconds: new(int32(honourLasts / time.Second)), RenewTime: &now}
	v1alpha1.Honour(l, names)
	if missing {
		_, err = leases.Create(ctx, l, metav1.CreateOptions{})
	} else {
		_, err = leases.Update(ctx, l, metav1.UpdateOptions{})
	}
	return err
}

// unsay takes back what the Lease says, and gives it up if it is there for this alone.
func (s *shell) unsay() error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	leases := s.leases.CoordinationV1().Leases(v1alpha1.HonourNamespace)
	l, err := leases.Get(ctx, v1alpha1.HonourLease, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return nil
	case err != nil:
		return err
	case l.Spec.HolderIdentity == nil || *l.Spec.HolderIdentity != s.identity:
		return nil
	}
	delete(l.Annotations, v1alpha1.HonourAnnotation)
	if !s.byElection() {
		l.Spec.HolderIdentity = nil
	}
	_, err = leases.Update(ctx, l, metav1.UpdateOptions{})
	return err
}
