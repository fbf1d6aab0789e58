package agent

import (
	"context"
	"math/rand"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/ptr"
)

// runLeaseRenewal renews the node's Lease until ctx is done.
func (a *Agent) runLeaseRenewal(ctx context.Context, n *node) {
	interval := a.opts.LeaseRenewal
	lastRenewal := time.Now() // time of the last successful renewal
	renew := func(ctx context.Context) {
		if err := a.renewLease(ctx, n); err != nil {
			if ctx.Err() == nil {
				a.opts.Log.Error(err, "Failed to renew the node lease", "node", n.manifest.Name)
			}
			return
		}
		// After a long gap the node lifecycle controller may have marked the node unreachable.
		if elapsed := time.Since(lastRenewal); elapsed > maxMissedRenewals*interval {
			if err := a.syncNodeStatus(ctx, n); err != nil && ctx.Err() == nil {
				a.opts.Log.Error(err, "Failed to update the node status", "node", n.manifest.Name, "after", elapsed)
				return
			}
		}
		lastRenewal = time.Now()
	}
	renew(ctx)
	// Spread the renewals of nodes that started together.
	select {
	case <-ctx.Done():
		return
	case <-time.After(time.Duration(rand.Int63n(int64(interval)))):
	}
	wait.JitterUntilWithContext(ctx, renew, interval, 0.04, true)
}

// renewLease creates or updates the node's Lease. It caches the last written object, so that a
// renewal is one request.
func (a *Agent) renewLease(ctx context.Context, n *node) error {
	select {
	case a.leaseSlots <- struct{}{}:
		defer func() { <-a.leaseSlots }()
	case <-ctx.Done():
		return ctx.Err()
	}
	leases := a.opts.Client.CoordinationV1().Leases(corev1.NamespaceNodeLease)
	if n.lease == nil {
		created, err := leases.Create(ctx, &coordinationv1.Lease{
			ObjectMeta: metav1.ObjectMeta{Name: n.manifest.Name, Namespace: corev1.NamespaceNodeLease},
			Spec: coordinationv1.LeaseSpec{
				HolderIdentity:       &n.manifest.Name,
				LeaseDurationSeconds: ptr.To(int32(leaseDurationRenewals * a.opts.LeaseRenewal / time.Second)),
				RenewTime:            ptr.To(metav1.NowMicro()),
			},
		}, metav1.CreateOptions{})
		if err == nil {
			n.lease = created
			return nil
		}
		existing, getErr := leases.Get(ctx, n.manifest.Name, metav1.GetOptions{})
		if getErr != nil {
			return err
		}
		n.lease = existing
	}
	next := n.lease.DeepCopy()
	next.Spec.HolderIdentity, next.Spec.RenewTime = &n.manifest.Name, ptr.To(metav1.NowMicro())
	renewed, err := leases.Update(ctx, next, metav1.UpdateOptions{})
	n.lease = renewed
	if err != nil {
		n.lease = nil
	}
	return err
}
