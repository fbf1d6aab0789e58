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

// advertiseInterval is the interval of updates; advertiseDuration is the duration of the Lease.
const (
	advertiseInterval = 30 * time.Second
	advertiseDuration = 90 * time.Second
)

// advertiseHoldSupport advertises Hold support while this instance leads and Holds are served; both can change at any
// time. It uses the election Lease if that has the right name, and otherwise a Lease for this purpose.
func (s *scheduler) advertiseHoldSupport(ctx context.Context) {
	for _, ready := range []<-chan struct{}{s.leading, s.source.Synced()} {
		select {
		case <-ready:
		case <-s.lost:
			return
		case <-ctx.Done():
			return
		}
	}
	tick := s.clock.NewTicker(advertiseInterval)
	defer tick.Stop()
	advertised, lastError := false, ""
	for {
		switch {
		case s.holdsServed.Load():
			advertised = true
			if err := s.updateHoldSupport(ctx); err != nil && ctx.Err() == nil && err.Error() != lastError {
				lastError = err.Error()
				s.log.Warn("Failed to advertise Hold support; the descheduler will not create Reserve Holds", "lease", v1alpha1.HoldSupportNamespace+"/"+v1alpha1.HoldSupportLease, "err", err)
			}
		case advertised:
			advertised = s.withdrawHoldSupport() != nil
		}
		select {
		case <-tick.C():
		case <-s.lost:
			return
		case <-ctx.Done():
			if advertised && !s.usesElectionLease() { // the election releases its Lease itself
				_ = s.withdrawHoldSupport() // the Lease expires anyway
			}
			return
		}
	}
}

// usesElectionLease reports whether the Lease that advertises Hold support is the election Lease.
func (s *scheduler) usesElectionLease() bool {
	e := s.o.Election
	return e != nil && e.Namespace == v1alpha1.HoldSupportNamespace && e.Name == v1alpha1.HoldSupportLease
}

// updateHoldSupport updates the Lease.
func (s *scheduler) updateHoldSupport(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, advertiseInterval/2)
	defer cancel()
	leases, names := s.leases.CoordinationV1().Leases(v1alpha1.HoldSupportNamespace), []string{}
	for _, p := range s.o.profilesOrDefault() {
		names = append(names, p.Name)
	}
	existing, err := leases.Get(ctx, v1alpha1.HoldSupportLease, metav1.GetOptions{})
	missing := apierrors.IsNotFound(err)
	if err != nil && !missing {
		return err
	}
	l := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: v1alpha1.HoldSupportNamespace, Name: v1alpha1.HoldSupportLease}}
	if !missing {
		l = existing.DeepCopy()
	}
	if s.usesElectionLease() {
		if v1alpha1.AdvertiseHoldSupport(l, names); missing || l.Annotations[v1alpha1.HoldSupportAnnotation] == existing.Annotations[v1alpha1.HoldSupportAnnotation] {
			return nil // unchanged, or about to be created by the election
		}
		_, err = leases.Update(ctx, l, metav1.UpdateOptions{})
		return err
	}
	now := metav1.NewMicroTime(s.clock.Now())
	if h := l.Spec.HolderIdentity; h != nil && *h != "" && *h != s.identity && l.Spec.RenewTime != nil && l.Spec.LeaseDurationSeconds != nil &&
		now.Before(&metav1.MicroTime{Time: l.Spec.RenewTime.Add(time.Duration(*l.Spec.LeaseDurationSeconds) * time.Second)}) {
		return fmt.Errorf("held by another scheduler, %s", *h)
	}
	l.Spec = coordinationv1.LeaseSpec{HolderIdentity: &s.identity, LeaseDurationSeconds: new(int32(advertiseDuration / time.Second)), RenewTime: &now}
	v1alpha1.AdvertiseHoldSupport(l, names)
	if missing {
		_, err = leases.Create(ctx, l, metav1.CreateOptions{})
	} else {
		_, err = leases.Update(ctx, l, metav1.UpdateOptions{})
	}
	return err
}

// withdrawHoldSupport removes the advertisement, and releases the Lease if it has no other purpose.
func (s *scheduler) withdrawHoldSupport() error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	leases := s.leases.CoordinationV1().Leases(v1alpha1.HoldSupportNamespace)
	l, err := leases.Get(ctx, v1alpha1.HoldSupportLease, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return nil
	case err != nil:
		return err
	case l.Spec.HolderIdentity == nil || *l.Spec.HolderIdentity != s.identity:
		return nil
	}
	v1alpha1.WithdrawHoldSupport(l)
	if !s.usesElectionLease() {
		l.Spec.HolderIdentity = nil
	}
	_, err = leases.Update(ctx, l, metav1.UpdateOptions{})
	return err
}
