package agent

import (
	"context"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// runLeaseRenewal renews the node's Lease and returns the time until the next renewal.
func (a *Agent) runLeaseRenewal(n *node) time.Duration {
	ctx, interval := a.ctx, a.opts.LeaseRenewal
	delay := a.env.jitter(interval, heartbeatJitter)
	if n.lastRenewal.IsZero() {
		n.lastRenewal = a.env.now()
		delay = time.Duration(a.env.Random(int64(interval))) // spread the renewals of nodes that started together
	}
	if ctx.Err() != nil {
		return Never
	}
	err := a.renewLease(ctx, n)
	n.renewalFailed = err != nil
	if err != nil {
		if ctx.Err() == nil {
			a.opts.Log.Error(err, "Failed to renew the node lease", "node", n.manifest.Name)
		}
		return delay
	}
	// After a long gap the node lifecycle controller may have marked the node unreachable.
	if a.env.Clock.Since(n.lastRenewal) > maxMissedRenewals*interval {
		n.status.Trigger()
	}
	n.lastRenewal = a.env.now()
	return delay
}

// heartbeatJitter is the random part of the intervals between heartbeats.
const heartbeatJitter = 0.04

// renewLease creates or updates the node's Lease. It caches the last written object, so that a
// renewal is one request.
func (a *Agent) renewLease(ctx context.Context, n *node) error {
	leases := a.opts.Client.CoordinationV1().Leases(corev1.NamespaceNodeLease)
	if n.lease == nil {
		created, err := leases.Create(ctx, &coordinationv1.Lease{
			ObjectMeta: metav1.ObjectMeta{Name: n.manifest.Name, Namespace: corev1.NamespaceNodeLease, OwnerReferences: n.leaseOwners()},
			Spec: coordinationv1.LeaseSpec{
				HolderIdentity:       &n.manifest.Name,
				LeaseDurationSeconds: ptr.To(int32(LeaseDurationRenewals * a.opts.LeaseRenewal / time.Second)),
				RenewTime:            ptr.To(metav1.NewMicroTime(a.env.now())),
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
	next.Spec.HolderIdentity, next.Spec.RenewTime = &n.manifest.Name, ptr.To(metav1.NewMicroTime(a.env.now()))
	if owners := n.leaseOwners(); owners != nil {
		next.OwnerReferences = owners
	}
	renewed, err := leases.Update(ctx, next, metav1.UpdateOptions{})
	n.lease = renewed
	if err != nil {
		n.lease = nil
	}
	return err
}

// leaseOwners returns the owner of the node's Lease: the node's object. The garbage collector deletes the Lease after that
// object is deleted. It returns nil until the UID of the object is known.
func (n *node) leaseOwners() []metav1.OwnerReference {
	uid := n.objectUID()
	if uid == "" {
		return nil
	}
	return []metav1.OwnerReference{{APIVersion: corev1.SchemeGroupVersion.String(), Kind: "Node", Name: n.manifest.Name, UID: uid}}
}
