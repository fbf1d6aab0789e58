package subresource

import (
	"context"
	"errors"
	"fmt"

	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// repairObjects makes the objects agree with the allocations: it creates missing ones and deletes those whose
// allocation is missing or has another owner. The objects must have been listed before the allocations were read, so
// that such objects are stale. Requests may run at the same time. An object that was not listed is never replaced.
//
// An object of another manager is deleted only if a Service has its address. The map used contains the owner of each
// cluster IP of a Service before the objects were listed. Any other allocation may still be in progress, or remain from
// a crash.
func (a addressAllocator) repairObjects(ctx context.Context, objects []networkingv1.IPAddress, owners, used map[string]string) error {
	kept := map[string]bool{}
	var errs []error
	for i := range objects {
		object := &objects[i]
		owner, allocated := owners[object.Name]
		keep := allocated && isObjectOf(object, owner)
		if !isManaged(object) {
			keep = !allocated || used[object.Name] != owner
		}
		if keep {
			kept[object.Name] = true
			continue
		}
		errs = append(errs, a.deleteObject(ctx, object))
	}
	var created []*networkingv1.IPAddress
	for value, owner := range owners {
		if kept[value] {
			continue
		}
		object, err := a.objects.create(ctx, newIPAddress(value, owner))
		switch {
		case err == nil:
			created = append(created, object)
		case !apierrors.IsAlreadyExists(err):
			errs = append(errs, fmt.Errorf("creating IPAddress %s: %w", value, err))
		}
	}
	return errors.Join(append(errs, a.deleteReleased(ctx, created, owners))...)
}

// deleteReleased deletes the created objects whose address is no longer allocated to its previous owner.
func (a addressAllocator) deleteReleased(ctx context.Context, created []*networkingv1.IPAddress, previous map[string]string) error {
	if len(created) == 0 {
		return nil
	}
	owners, err := a.Allocated(ctx, clusterIPPool)
	if err != nil {
		return err
	}
	var errs []error
	for _, object := range created {
		if owners[object.Name] != previous[object.Name] {
			errs = append(errs, a.deleteObject(ctx, object))
		}
	}
	return errors.Join(errs...)
}
