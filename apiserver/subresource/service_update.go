package subresource

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/klog/v2"
)

// Create runs the creation of a service. The store may try the write several times, with other generated names. Create
// releases the allocations of attempts that have not written the service.
func (s *ServiceAllocator) Create(ctx context.Context, validation rest.ValidateObjectFunc, create func(context.Context, rest.ValidateObjectFunc) (runtime.Object, error)) (runtime.Object, error) {
	attempts := &attempts{}
	obj, err := create(context.WithValue(ctx, attemptsKey{}, attempts), func(ctx context.Context, obj runtime.Object) error {
		if validation != nil {
			if err := validation(ctx, obj); err != nil {
				return err
			}
		}
		attempts.writes = true // the store writes the service after the validation
		return nil
	})
	s.finish(ctx, attempts, err)
	return obj, err
}

// Update runs an update of a service. The store may try the write several times, after changes of the service by
// other requests. Update releases the allocations of attempts that failed, and those that the service no longer
// has.
func (s *ServiceAllocator) Update(ctx context.Context, update func(context.Context) (runtime.Object, bool, error)) (runtime.Object, bool, error) {
	attempts := &attempts{}
	obj, created, err := update(context.WithValue(ctx, attemptsKey{}, attempts))
	s.finish(ctx, attempts, err)
	return obj, created, err
}

// attempts holds the state of a request that creates or updates a service.
type attempts struct {
	last   *transaction // the last attempt, if the store has tried to write it
	writes bool         // the store may have tried to create the service, even if the attempt fails
}

type attemptsKey struct{}

// attemptsOf returns the attempts of a request, or nil for other requests.
func attemptsOf(ctx context.Context) *attempts {
	attempts, _ := ctx.Value(attemptsKey{}).(*attempts)
	return attempts
}

// retry undoes the last attempt because another one follows. The store retries only if the last one has not
// written the service.
func (a *attempts) retry(ctx context.Context) {
	if a == nil {
		return
	}
	if a.last != nil {
		a.last.undo(ctx)
	}
	*a = attempts{}
}

// mayBeWritten reports whether a failed attempt may have written the service.
func (a *attempts) mayBeWritten() bool { return a != nil && a.writes }

// recordWrite records that the store tries to write the service.
func (a *attempts) recordWrite(t *transaction) {
	if a != nil {
		a.last = t
	}
}

// isRefused reports whether an error means that the service was not written.
func isRefused(err error) bool {
	return apierrors.IsInvalid(err) || apierrors.IsForbidden(err) || apierrors.IsBadRequest(err) ||
		apierrors.IsConflict(err) || apierrors.IsNotFound(err) || apierrors.IsAlreadyExists(err)
}

// finish releases the allocations that the service does not have after a request.
func (s *ServiceAllocator) finish(ctx context.Context, a *attempts, err error) {
	t := a.last
	switch {
	case t == nil || t.dryRun:
	case err == nil:
		t.releaseDropped(ctx)
	case isRefused(err):
		t.undo(ctx)
	case len(t.allocated) > 0 || len(t.dropped) > 0:
		if readErr := s.releaseUnused(ctx, t); readErr != nil {
			klog.ErrorS(err, "Failed to write a service; the next repair releases its allocations that are not used", "service", t.service, "readErr", readErr)
		}
	}
}

// releaseUnused releases the allocations that the stored service does not have. It is for errors after which it
// is unknown whether the service was written, such as a timeout. If the service does not exist, it returns an
// error, because the creation may still be in progress.
func (s *ServiceAllocator) releaseUnused(ctx context.Context, t *transaction) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseTimeout)
	defer cancel()
	parts := strings.Split(t.service, "/")
	service, err := s.read(ctx, parts[0], parts[1])
	if err != nil {
		return err
	}
	if uid := string(service.UID); uid != parts[2] {
		return fmt.Errorf("want the UID %s, got %s", parts[2], uid)
	}
	current := allocationsOf(service)
	t.allocated = slices.DeleteFunc(t.allocated, func(a allocation) bool { return slices.Contains(current, a) })
	maps.DeleteFunc(t.dropped, func(a allocation, _ string) bool { return slices.Contains(current, a) })
	t.undo(ctx)
	t.releaseDropped(ctx)
	return nil
}

// readStored reads a service from etcd.
func (s *ServiceAllocator) readStored(ctx context.Context, namespace, name string) (*corev1.Service, error) {
	obj, err := s.store.Get(genericapirequest.WithNamespace(ctx, namespace), name, &metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	service, ok := obj.(*corev1.Service)
	if !ok {
		return nil, fmt.Errorf("want a Service named %s, got %T", name, obj)
	}
	return service, nil
}
