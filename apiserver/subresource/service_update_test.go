package subresource

import (
	"context"
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/registry/rest"
)

// nodePortService returns a service with these node ports.
func nodePortService(ports ...int32) *corev1.Service {
	spec := corev1.ServiceSpec{Type: corev1.ServiceTypeNodePort, ClusterIP: "10.96.0.10", ClusterIPs: []string{"10.96.0.10"}}
	for i, port := range ports {
		spec.Ports = append(spec.Ports, corev1.ServicePort{Port: int32(80 + i), Protocol: corev1.ProtocolTCP, NodePort: port})
	}
	return service("a", spec)
}

func conflict() error {
	return apierrors.NewConflict(corev1.Resource("services"), "a", errors.New("another version"))
}

func succeed() error { return nil }

// has reports whether the service a has a node port.
func (m memoryAllocator) has(port string) bool {
	return belongsTo(m[allocation{nodePortPool, port}], "n/a/a")
}

// TestFailedUpdateKeepsAllocationOfConcurrentUpdate checks that an update that fails does not release what a
// concurrent update of the same service has allocated.
func TestFailedUpdateKeepsAllocationOfConcurrentUpdate(t *testing.T) {
	allocated := memoryAllocator{}
	s := newTestAllocator(allocated, "10.96.0.0/16")
	old := nodePortService(30001)
	create(t, s, old)(t.Context(), true)
	err := update(t, s, nodePortService(30001, 30002), old, func() error {
		if err := update(t, s, nodePortService(30001, 30002, 30003), old, conflict); !apierrors.IsConflict(err) {
			t.Errorf("concurrent update: %v, want a conflict", err)
		}
		return nil
	})
	if err != nil || !allocated.has("30001") || !allocated.has("30002") || allocated.has("30003") {
		t.Errorf("got error %v and allocations %v, want node ports 30001 and 30002", err, allocated)
	}
}

// TestUpdateKeepsAllocationOfLaterUpdate checks that an update does not release a value that a later update has
// allocated again.
func TestUpdateKeepsAllocationOfLaterUpdate(t *testing.T) {
	allocated := memoryAllocator{}
	s := newTestAllocator(allocated, "10.96.0.0/16")
	first, second, third := nodePortService(30001), nodePortService(30002), nodePortService(30001)
	create(t, s, first)(t.Context(), true)
	err := update(t, s, second, first, func() error { // the service is written, 30001 is not released yet
		if err := update(t, s, third, second, succeed); !apierrors.IsConflict(err) {
			t.Errorf("update to 30001 before its release: %v, want a conflict", err)
		}
		return nil
	})
	if err != nil || allocated.has("30001") || !allocated.has("30002") {
		t.Fatalf("got error %v and allocations %v, want node port 30002", err, allocated)
	}
	if err := update(t, s, third, second, succeed); err != nil || !allocated.has("30001") || allocated.has("30002") {
		t.Errorf("got error %v and allocations %v, want node port 30001", err, allocated)
	}
}

// TestConcurrentUpdatesDoNotShareAutomaticPorts checks that concurrent updates that need any node port get
// different ones. An update that fails releases only the ports that it allocated.
func TestConcurrentUpdatesDoNotShareAutomaticPorts(t *testing.T) {
	allocated := memoryAllocator{}
	s := newTestAllocator(allocated, "10.96.0.0/16")
	old := nodePortService()
	create(t, s, old)(t.Context(), true)
	err := update(t, s, nodePortService(0), old, func() error { return update(t, s, nodePortService(0, 0), old, conflict) })
	if !apierrors.IsConflict(err) || len(allocated) != 1 {
		t.Errorf("got error %v and allocations %v, want a conflict and the cluster IP", err, allocated)
	}
}

// TestAttemptsOfUpdate checks which allocations are released. If the store retries after a conflict, they are those of
// the first attempt. If it is unknown whether the service was written, they are those that the stored service does not
// have.
func TestAttemptsOfUpdate(t *testing.T) {
	timeout := apierrors.NewTimeoutError("etcd", 1)
	for name, test := range map[string]struct {
		err, readErr error
		written      bool
		want         int
	}{
		"success": {written: true, want: 2}, "conflict": {err: conflict(), want: 2}, "invalid": {err: apierrors.NewInvalid(schema.GroupKind{}, "a", nil), want: 2},
		"timeout": {err: timeout, want: 2}, "timeout, written": {err: timeout, written: true, want: 2}, "timeout, not readable": {err: timeout, readErr: timeout, want: 3},
	} {
		allocated := memoryAllocator{}
		s := newTestAllocator(allocated, "10.96.0.0/16")
		old := nodePortService(30001)
		old.Spec.Ports[0].Port = 8080 // an update does not take over the node port
		create(t, s, old)(t.Context(), true)
		stored := old
		s.read = func(context.Context, string, string) (*corev1.Service, error) { return stored, test.readErr }
		_, _, _ = s.Update(t.Context(), func(ctx context.Context) (runtime.Object, bool, error) {
			for range 3 {
				next := nodePortService(0)
				finish, err := s.beginUpdate(ctx, next, old, &metav1.UpdateOptions{})
				if err != nil {
					t.Fatal(err)
				}
				finish(ctx, true)
				if test.written {
					stored = next
				}
			}
			return nil, false, test.err
		})
		if len(allocated) != test.want || allocated.has("30001") == test.written {
			t.Errorf("%s: got allocations %v, want %d", name, allocated, test.want)
		}
	}
}

// TestAttemptsOfCreate checks that a creation that may have written the service keeps its allocations, and that
// others release them.
func TestAttemptsOfCreate(t *testing.T) {
	timeout := apierrors.NewTimeoutError("webhook or etcd", 1)
	for name, test := range map[string]struct {
		invalid, err error
		want         int
	}{"success": {nil, nil, 1}, "not valid": {timeout, nil, 0}, "refused": {nil, conflict(), 0}, "timeout": {nil, timeout, 1}} {
		allocated := memoryAllocator{}
		s := newTestAllocator(allocated, "10.96.0.0/16")
		s.read = func(context.Context, string, string) (*corev1.Service, error) {
			return nil, apierrors.NewNotFound(corev1.Resource("services"), "a")
		}
		validation := func(context.Context, runtime.Object) error { return test.invalid }
		_, _ = s.Create(t.Context(), validation, func(ctx context.Context, validation rest.ValidateObjectFunc) (runtime.Object, error) {
			a := service("a", corev1.ServiceSpec{})
			finish, err := s.beginCreate(ctx, a, &metav1.CreateOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if err := validation(ctx, a); err != nil {
				finish(ctx, false)
				return nil, err
			}
			finish(ctx, test.err == nil)
			return a, test.err
		})
		if len(allocated) != test.want {
			t.Errorf("%s: got allocations %v, want %d", name, allocated, test.want)
		}
	}
}

// failingAllocate is an allocator that cannot write.
type failingAllocate struct{ memoryAllocator }

func (failingAllocate) Allocate(context.Context, string, string, string) (bool, error) {
	return false, errors.New("no leader")
}

// TestErrorOfAllocatorIsInternal checks that an error of etcd does not make a request invalid.
func TestErrorOfAllocatorIsInternal(t *testing.T) {
	s := newTestAllocator(failingAllocate{}, "10.96.0.0/16")
	old := service("a", corev1.ServiceSpec{ClusterIP: "10.96.0.10", ClusterIPs: []string{"10.96.0.10"}})
	if _, err := s.beginCreate(t.Context(), old.DeepCopy(), &metav1.CreateOptions{}); !apierrors.IsInternalError(err) {
		t.Errorf("cluster IP: %v, want an internal error", err)
	}
	if _, err := s.beginUpdate(t.Context(), nodePortService(30001), old, &metav1.UpdateOptions{}); !apierrors.IsInternalError(err) {
		t.Errorf("node port: %v, want an internal error", err)
	}
}

// TestRepairReportsSharedValue checks that the repair reports two services with one value.
func TestRepairReportsSharedValue(t *testing.T) {
	s := newTestAllocator(memoryAllocator{{nodePortPool, "30001"}: "n/b/b"}, "10.96.0.0/16")
	if err := s.addresses.restore(t.Context(), nodePortPool, "30001", "n/a/a"); err == nil {
		t.Error("restored a node port of another service")
	}
}

// TestOwnersWithoutTransactionAreReleased checks that allocations of releases without transactions in the owner
// are used and released.
func TestOwnersWithoutTransactionAreReleased(t *testing.T) {
	allocated := memoryAllocator{{nodePortPool, "30001"}: "n/a/a", {clusterIPPool, "10.96.0.10"}: "n/a/a"}
	s := newTestAllocator(allocated, "10.96.0.0/16")
	if err := update(t, s, nodePortService(30002), nodePortService(30001), succeed); err != nil || allocated.has("30001") || !allocated.has("30002") {
		t.Errorf("got error %v and allocations %v, want node port 30002", err, allocated)
	}
	s.afterDelete(nodePortService(30002), &metav1.DeleteOptions{})
	if len(allocated) != 0 {
		t.Errorf("allocations after the delete: %v, want none", allocated)
	}
}
