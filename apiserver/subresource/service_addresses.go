package subresource

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strings"

	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// addressManager is upstream's value of the managed-by label of the IPAddresses of cluster IPs.
const addressManager = "ipallocator.k8s.io"

// replaceAttempts bounds the attempts to replace an IPAddress that other requests change concurrently.
const replaceAttempts = 5

// ipAddresses stores IPAddress objects.
type ipAddresses interface {
	// create returns the stored object.
	create(ctx context.Context, address *networkingv1.IPAddress) (*networkingv1.IPAddress, error)
	get(ctx context.Context, name string) (*networkingv1.IPAddress, error)
	// delete deletes the object with this UID, or returns a conflict.
	delete(ctx context.Context, name string, uid types.UID) error
	list(ctx context.Context) ([]networkingv1.IPAddress, error)
}

// addressAllocator is an Allocator that has an IPAddress object for each cluster IP. The inner Allocator is
// authoritative. The object of an address without allocation is stale: the next allocation of the address replaces
// it, and repair deletes it. IPAddresses of other managers reserve their address unless a Service has it.
type addressAllocator struct {
	Allocator
	objects ipAddresses
}

// Allocate allocates a value. For a cluster IP it then creates the IPAddress.
func (a addressAllocator) Allocate(ctx context.Context, pool, value, owner string) (bool, error) {
	free, err := a.Allocator.Allocate(ctx, pool, value, owner)
	if err != nil || !free || pool != clusterIPPool {
		return free, err
	}
	if free, err = a.replaceObject(ctx, value, owner); err != nil || !free {
		_, releaseErr := a.Allocator.Release(context.WithoutCancel(ctx), pool, value, owner)
		return false, errors.Join(err, releaseErr)
	}
	return true, nil
}

// restore allocates a value that an existing Service has. It keeps a valid IPAddress. It does not release the value if
// the IPAddress cannot be created.
func (a addressAllocator) restore(ctx context.Context, pool, value, service string) error {
	free, err := a.Allocator.Allocate(ctx, pool, value, newOwner(service))
	if err == nil && !free {
		var owner string
		owner, err = a.Owner(ctx, pool, value)
		if err == nil && !belongsTo(owner, service) {
			err = fmt.Errorf("%s of Service %s is allocated to %q", value, service, owner)
		}
	}
	if err != nil || pool != clusterIPPool {
		return err
	}
	object, err := a.objects.get(ctx, value)
	if err == nil && isManaged(object) && object.DeletionTimestamp == nil && isObjectOf(object, service) {
		return nil
	}
	_, err = a.replaceObject(ctx, value, service)
	return err
}

// Release releases a value if owner has it, and then deletes its IPAddress, even if a user has removed
// its label.
func (a addressAllocator) Release(ctx context.Context, pool, value, owner string) (bool, error) {
	if pool != clusterIPPool {
		return a.Allocator.Release(ctx, pool, value, owner)
	}
	// The UID is read before the release. Afterwards the address may belong to another Service.
	object, err := a.objects.get(ctx, value)
	if err != nil && !apierrors.IsNotFound(err) {
		return false, fmt.Errorf("reading IPAddress %s: %w", value, err)
	}
	released, err := a.Allocator.Release(ctx, pool, value, owner)
	if err != nil || !released || object == nil || !isManaged(object) && !refersTo(object, owner) {
		return released, err
	}
	return true, a.deleteObject(ctx, object)
}

// replaceObject creates the IPAddress of an address that owner has allocated. It replaces a stale object. It returns
// false if another manager has reserved the address, or if a finalizer delays the deletion of the stale object.
func (a addressAllocator) replaceObject(ctx context.Context, value, owner string) (bool, error) {
	for range replaceAttempts {
		_, err := a.objects.create(ctx, newIPAddress(value, owner))
		if err == nil {
			return true, nil
		}
		if !apierrors.IsAlreadyExists(err) {
			return false, fmt.Errorf("creating IPAddress %s: %w", value, err)
		}
		stale, err := a.objects.get(ctx, value)
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return false, fmt.Errorf("reading IPAddress %s: %w", value, err)
		}
		if !isManaged(stale) || stale.DeletionTimestamp != nil {
			return false, nil
		}
		if err := a.deleteObject(ctx, stale); err != nil {
			return false, err
		}
	}
	return false, fmt.Errorf("creating IPAddress %s: it changed %d times", value, replaceAttempts)
}

// deleteObject deletes the object unless another one has replaced it.
func (a addressAllocator) deleteObject(ctx context.Context, object *networkingv1.IPAddress) error {
	err := a.objects.delete(ctx, object.Name, object.UID)
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
		return fmt.Errorf("deleting IPAddress %s: %w", object.Name, err)
	}
	return nil
}

func isManaged(object *networkingv1.IPAddress) bool {
	return object.Labels[networkingv1.LabelManagedBy] == addressManager
}

// isObjectOf reports whether an object has the IP family label and the parent of the owner's
// address.
func isObjectOf(object *networkingv1.IPAddress, owner string) bool {
	desired := newIPAddress(object.Name, owner)
	return refersTo(object, owner) && object.Labels[networkingv1.LabelIPAddressFamily] == desired.Labels[networkingv1.LabelIPAddressFamily]
}

// refersTo reports whether the parent of an object is the owner of an address.
func refersTo(object *networkingv1.IPAddress, owner string) bool {
	return object.Spec.ParentRef != nil && *object.Spec.ParentRef == *newIPAddress(object.Name, owner).Spec.ParentRef
}

// newIPAddress returns the object of an address that is allocated to owner (see ownerOf).
func newIPAddress(value, owner string) *networkingv1.IPAddress {
	namespace, nameAndUID, _ := strings.Cut(owner, "/")
	name, _, _ := strings.Cut(nameAndUID, "/")
	family := "IPv4"
	if addr, err := netip.ParseAddr(value); err == nil && addr.Is6() {
		family = "IPv6"
	}
	return &networkingv1.IPAddress{
		ObjectMeta: metav1.ObjectMeta{Name: value, Labels: map[string]string{
			networkingv1.LabelIPAddressFamily: family, networkingv1.LabelManagedBy: addressManager,
		}},
		Spec: networkingv1.IPAddressSpec{ParentRef: &networkingv1.ParentReference{Resource: "services", Namespace: namespace, Name: name}},
	}
}
