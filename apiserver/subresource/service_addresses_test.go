package subresource

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/uuid"
)

var addressResource = networkingv1.Resource("ipaddresses")

// memoryAddresses stores IPAddresses in a map.
type memoryAddresses map[string]*networkingv1.IPAddress

func (m memoryAddresses) create(_ context.Context, address *networkingv1.IPAddress) (*networkingv1.IPAddress, error) {
	if m[address.Name] != nil {
		return nil, apierrors.NewAlreadyExists(addressResource, address.Name)
	}
	address.UID = uuid.NewUUID()
	m[address.Name] = address
	return address, nil
}

func (m memoryAddresses) get(_ context.Context, name string) (*networkingv1.IPAddress, error) {
	if m[name] == nil {
		return nil, apierrors.NewNotFound(addressResource, name)
	}
	return m[name], nil
}

func (m memoryAddresses) delete(_ context.Context, name string, uid types.UID) error {
	switch {
	case m[name] == nil:
		return apierrors.NewNotFound(addressResource, name)
	case m[name].UID != uid:
		return apierrors.NewConflict(addressResource, name, errors.New("another UID"))
	case len(m[name].Finalizers) > 0:
		m[name].DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)}
		return nil
	}
	delete(m, name)
	return nil
}

func (m memoryAddresses) list(context.Context) (out []networkingv1.IPAddress, _ error) {
	for _, object := range m {
		out = append(out, *object)
	}
	return out, nil
}

// parents returns the Service of each address, as namespace/name.
func (m memoryAddresses) parents() map[string]string {
	out := map[string]string{}
	for name, object := range m {
		out[name] = object.Spec.ParentRef.Namespace + "/" + object.Spec.ParentRef.Name
	}
	return out
}

func TestClusterIPHasIPAddress(t *testing.T) {
	for cidr, family := range map[string]string{"10.96.0.0/16": "IPv4", "fd00::/112": "IPv6"} {
		objects := memoryAddresses{}
		s := newServiceAllocator(netip.MustParsePrefix(cidr), addressAllocator{memoryAllocator{}, objects})
		svc := service("a", corev1.ServiceSpec{})
		finish := create(t, s, svc)
		object := objects[svc.Spec.ClusterIP]
		if object == nil {
			t.Fatalf("%s: no IPAddress for %s: %v", cidr, svc.Spec.ClusterIP, objects)
		}
		want := networkingv1.ParentReference{Resource: "services", Namespace: "n", Name: "a"}
		if *object.Spec.ParentRef != want || object.Labels["ipaddress.kubernetes.io/ip-family"] != family ||
			object.Labels["ipaddress.kubernetes.io/managed-by"] != "ipallocator.k8s.io" {
			t.Errorf("%s: got parent %+v and labels %v, want parent %+v, family %s", cidr, *object.Spec.ParentRef, object.Labels, want, family)
		}
		finish(t.Context(), false)
		if len(objects) != 0 {
			t.Errorf("%s: IPAddresses after a failed write: %v, want none", cidr, objects.parents())
		}
	}
}

// TestIPAddressOfAnotherManagerReservesAddress checks that an IPAddress of another manager reserves its address. A
// stale IPAddress does not.
func TestIPAddressOfAnotherManagerReservesAddress(t *testing.T) {
	allocations, objects := memoryAllocator{}, memoryAddresses{}
	s := newServiceAllocator(netip.MustParsePrefix("10.96.0.0/16"), addressAllocator{allocations, objects})
	reserved := newIPAddress("10.96.0.10", "n/gateway/u")
	reserved.Labels = nil
	for _, object := range []*networkingv1.IPAddress{reserved, newIPAddress("10.96.0.11", "n/deleted/u")} {
		if _, err := objects.create(t.Context(), object); err != nil {
			t.Fatal(err)
		}
	}
	_, err := s.beginCreate(t.Context(), service("a", corev1.ServiceSpec{ClusterIP: "10.96.0.10"}), &metav1.CreateOptions{})
	if err == nil || !strings.Contains(err.Error(), "provided IP is already allocated") || len(allocations) != 0 {
		t.Errorf("address of another manager: got error %v and allocations %v, want already allocated", err, allocations)
	}
	create(t, s, service("b", corev1.ServiceSpec{ClusterIP: "10.96.0.11"}))(t.Context(), true)
	if want := map[string]string{"10.96.0.10": "n/gateway", "10.96.0.11": "n/b"}; !maps.Equal(objects.parents(), want) {
		t.Errorf("got parents %v, want %v", objects.parents(), want)
	}
}

// crashCounter lets the remaining requests succeed and fails all later ones, like a process that crashes.
type crashCounter struct{ remaining int }

var errCrash = errors.New("crashed")

func (c *crashCounter) next() error {
	if c.remaining--; c.remaining < 0 {
		return errCrash
	}
	return nil
}

// crashingAllocator fails when its counter reaches zero.
type crashingAllocator struct {
	memoryAllocator
	*crashCounter
}

func (c crashingAllocator) Allocate(ctx context.Context, pool, value, owner string) (bool, error) {
	if err := c.next(); err != nil {
		return false, err
	}
	return c.memoryAllocator.Allocate(ctx, pool, value, owner)
}

func (c crashingAllocator) Release(ctx context.Context, pool, value, owner string) (bool, error) {
	if err := c.next(); err != nil {
		return false, err
	}
	return c.memoryAllocator.Release(ctx, pool, value, owner)
}

// crashingAddresses fails when its counter reaches zero.
type crashingAddresses struct {
	memoryAddresses
	*crashCounter
}

func (c crashingAddresses) create(ctx context.Context, address *networkingv1.IPAddress) (*networkingv1.IPAddress, error) {
	if err := c.next(); err != nil {
		return nil, err
	}
	return c.memoryAddresses.create(ctx, address)
}

func (c crashingAddresses) delete(ctx context.Context, name string, uid types.UID) error {
	if err := c.next(); err != nil {
		return err
	}
	return c.memoryAddresses.delete(ctx, name, uid)
}

// TestIPAddressesAgreeWithAllocations checks that the IPAddresses agree with the allocations after any sequence of
// requests. After crashes during requests and changes of the objects by users, they agree once the repair has run.
func TestIPAddressesAgreeWithAllocations(t *testing.T) {
	for seed := range uint64(100) {
		random := rand.New(rand.NewPCG(seed, 1))
		allocations, objects, stored := memoryAllocator{}, memoryAddresses{}, map[string]*corev1.Service{}
		damaged := false
		for step := range 40 {
			crash := &crashCounter{remaining: 1000}
			if seed%2 == 1 && random.IntN(4) == 0 {
				crash.remaining, damaged = random.IntN(4), true
			}
			s := newServiceAllocator(netip.MustParsePrefix("10.0.0.0/28"), addressAllocator{crashingAllocator{allocations, crash}, crashingAddresses{objects, crash}})
			randomRequest(t.Context(), random, s, stored, fmt.Sprint("s", random.IntN(8)))
			if names := slices.Sorted(maps.Keys(objects)); seed%2 == 1 && len(names) > 0 && random.IntN(8) == 0 {
				delete(objects, names[random.IntN(len(names))])
				damaged = true
			}
			if !damaged {
				checkAddresses(t, fmt.Sprintf("seed %d, step %d", seed, step), allocations, objects, stored)
			}
		}
		for _, name := range slices.Sorted(maps.Keys(objects)) { // a user removes the labels, or replaces the object
			owner := ownerOfIP(stored, name)
			if owner == "" {
				continue
			}
			switch random.IntN(6) {
			case 0:
				objects[name].Labels = nil
			case 1:
				objects[name] = newIPAddress(name, "n/custom/u")
				objects[name].Labels, objects[name].UID = nil, uuid.NewUUID()
			}
		}
		s := newServiceAllocator(netip.MustParsePrefix("10.0.0.0/28"), addressAllocator{allocations, objects})
		repairStored(t, s, allocations, stored)
		checkAddresses(t, fmt.Sprintf("seed %d, repaired", seed), allocations, objects, stored)
	}
}

// randomRequest creates, changes or deletes a Service. The request may fail.
func randomRequest(ctx context.Context, random *rand.Rand, s *ServiceAllocator, stored map[string]*corev1.Service, name string) {
	old := stored[name]
	switch {
	case old == nil:
		svc := service(name, corev1.ServiceSpec{})
		svc.UID = uuid.NewUUID()
		if random.IntN(3) == 0 {
			svc.Spec.ClusterIP = fmt.Sprintf("10.0.0.%d", 2+random.IntN(6))
		}
		finish, err := s.beginCreate(ctx, svc, &metav1.CreateOptions{})
		if err != nil {
			return
		}
		success := random.IntN(5) > 0
		if success {
			stored[name] = svc
		}
		finish(ctx, success)
	case random.IntN(2) == 0:
		delete(stored, name)
		s.afterDelete(old, &metav1.DeleteOptions{})
	default:
		next := old.DeepCopy()
		next.Spec = corev1.ServiceSpec{Type: corev1.ServiceTypeExternalName, ExternalName: "x"}
		if old.Spec.Type == corev1.ServiceTypeExternalName {
			next.Spec = corev1.ServiceSpec{Type: corev1.ServiceTypeClusterIP}
		}
		success := random.IntN(5) > 0
		_, _, _ = s.Update(ctx, func(ctx context.Context) (runtime.Object, bool, error) {
			finish, err := s.beginUpdate(ctx, next, old, &metav1.UpdateOptions{})
			if err != nil {
				return nil, false, err
			}
			finish(ctx, true)
			if !success {
				return nil, false, apierrors.NewConflict(corev1.Resource("services"), name, errors.New("another version"))
			}
			stored[name] = next
			return next, false, nil
		})
	}
}

// ownerOfIP returns the owner of an address, or "".
func ownerOfIP(stored map[string]*corev1.Service, ip string) string {
	for _, svc := range stored {
		if slices.Contains(svc.Spec.ClusterIPs, ip) {
			return ownerOf(svc, nil)
		}
	}
	return ""
}

// repairStored sets the allocations to those of the stored Services and repairs the IPAddresses.
func repairStored(t *testing.T, s *ServiceAllocator, allocations memoryAllocator, stored map[string]*corev1.Service) {
	t.Helper()
	clear(allocations)
	for _, svc := range stored {
		for _, c := range allocationsOf(svc) {
			allocations[c] = newOwner(ownerOf(svc, nil))
		}
	}
	used, err := s.addresses.Allocated(t.Context(), clusterIPPool)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.repairAddresses(t.Context(), used); err != nil {
		t.Fatal(err)
	}
}

// checkAddresses compares allocations and IPAddresses with the Services.
func checkAddresses(t *testing.T, stage string, allocations memoryAllocator, objects memoryAddresses, stored map[string]*corev1.Service) {
	t.Helper()
	want, allocated := map[string]string{}, map[string]string{}
	for name, svc := range stored {
		for _, ip := range svc.Spec.ClusterIPs {
			want[ip] = "n/" + name
		}
	}
	for c, owner := range allocations {
		parts := strings.Split(owner, "/")
		allocated[c.value] = parts[0] + "/" + parts[1]
	}
	for name, object := range objects {
		if !isManaged(object) {
			t.Fatalf("%s: IPAddress %s: got labels %v, want managed", stage, name, object.Labels)
		}
	}
	if got := objects.parents(); !maps.Equal(got, want) || !maps.Equal(allocated, want) {
		t.Fatalf("%s: got allocations %v and IPAddresses %v, want the addresses of the Services %v", stage, allocated, got, want)
	}
}
