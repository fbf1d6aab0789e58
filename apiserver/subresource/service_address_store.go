package subresource

import (
	"context"
	"fmt"

	networkingv1 "k8s.io/api/networking/v1"
	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/generic/registry"
	"k8s.io/apiserver/pkg/registry/rest"
)

// storedAddresses stores IPAddresses in the store of the kind. Admission does not apply, so a policy cannot
// prevent the IPAddress of an existing Service.
type storedAddresses struct{ store *registry.Store }

// clusterScope returns a context for a request of a cluster-scoped kind.
func clusterScope(ctx context.Context) context.Context {
	return genericapirequest.WithNamespace(ctx, metav1.NamespaceNone)
}

func (s storedAddresses) create(ctx context.Context, address *networkingv1.IPAddress) (*networkingv1.IPAddress, error) {
	object, err := s.store.Create(clusterScope(ctx), address, rest.ValidateAllObjectFunc, &metav1.CreateOptions{})
	if err != nil {
		return nil, err
	}
	return asIPAddress(object, address.Name)
}

func (s storedAddresses) get(ctx context.Context, name string) (*networkingv1.IPAddress, error) {
	object, err := s.store.Get(clusterScope(ctx), name, &metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	return asIPAddress(object, name)
}

func asIPAddress(object runtime.Object, name string) (*networkingv1.IPAddress, error) {
	address, ok := object.(*networkingv1.IPAddress)
	if !ok {
		return nil, fmt.Errorf("want an IPAddress named %s, got %T", name, object)
	}
	return address, nil
}

func (s storedAddresses) delete(ctx context.Context, name string, uid types.UID) error {
	_, _, err := s.store.Delete(clusterScope(ctx), name, rest.ValidateAllObjectFunc, &metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}})
	return err
}

func (s storedAddresses) list(ctx context.Context) ([]networkingv1.IPAddress, error) {
	object, err := s.store.List(clusterScope(ctx), &metainternalversion.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("listing IPAddresses: %w", err)
	}
	list, ok := object.(*networkingv1.IPAddressList)
	if !ok {
		return nil, fmt.Errorf("want a list of IPAddresses, got %T", object)
	}
	return list.Items, nil
}
