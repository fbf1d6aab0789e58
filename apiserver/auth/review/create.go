package review

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/authentication/user"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"
)

// Storage is a create-only storage that evaluates a posted T and stores nothing.
type Storage[T runtime.Object] struct {
	newObject  func() T
	kind       string
	singular   string
	namespaced bool
	evaluate   func(ctx context.Context, in T) error // sets the status of in, which is a copy
}

var (
	_ rest.Creater              = &Storage[runtime.Object]{}
	_ rest.Scoper               = &Storage[runtime.Object]{}
	_ rest.SingularNameProvider = &Storage[runtime.Object]{}
	_ rest.KindProvider         = &Storage[runtime.Object]{}
)

// New implements rest.Storage.
func (s *Storage[T]) New() runtime.Object { return s.newObject() }

// Destroy implements rest.Storage.
func (s *Storage[T]) Destroy() {}

// NamespaceScoped implements rest.Scoper.
func (s *Storage[T]) NamespaceScoped() bool { return s.namespaced }

// GetSingularName implements rest.SingularNameProvider.
func (s *Storage[T]) GetSingularName() string { return s.singular }

// Kind implements rest.KindProvider.
func (s *Storage[T]) Kind() string { return s.kind }

// Create evaluates a copy of obj and returns it with its status.
func (s *Storage[T]) Create(ctx context.Context, obj runtime.Object, validate rest.ValidateObjectFunc, _ *metav1.CreateOptions) (runtime.Object, error) {
	in, ok := obj.(T)
	if !ok {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("not a %s: %T", s.kind, obj))
	}
	if validate != nil {
		if err := validate(ctx, in.DeepCopyObject()); err != nil {
			return nil, err
		}
	}
	out := in.DeepCopyObject().(T)
	if err := s.evaluate(ctx, out); err != nil {
		return nil, err
	}
	return out, nil
}

// requester returns the user of the request.
func requester(ctx context.Context) (user.Info, error) {
	u, ok := genericapirequest.UserFrom(ctx)
	if !ok {
		return nil, apierrors.NewBadRequest("no user present on request")
	}
	return u, nil
}
