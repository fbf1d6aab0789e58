package kinds

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Hooks are the functions that the registry calls on writes of a kind. Every hook may be nil. The
// registry passes only objects of the kind's Go type.
type Hooks struct {
	// Default sets defaults. It runs on every decode, of requests and of stored data, and must be
	// idempotent.
	Default func(obj runtime.Object)
	// PrepareCreate and PrepareUpdate run after mutating admission and before validation. If
	// HasStatus is set, the registry resets status before PrepareCreate and restores it from old
	// before PrepareUpdate.
	PrepareCreate func(ctx context.Context, obj runtime.Object)
	PrepareUpdate func(ctx context.Context, obj, old runtime.Object)
	// PrepareStatus runs on writes to the status subresource, after everything except status and
	// metadata is restored from old.
	PrepareStatus func(ctx context.Context, obj, old runtime.Object)
	// Validate, ValidateUpdate and ValidateStatus validate a write, including metadata. A kind
	// without them gets only the generic validation of metadata.
	Validate       func(ctx context.Context, obj runtime.Object) field.ErrorList
	ValidateUpdate func(ctx context.Context, obj, old runtime.Object) field.ErrorList
	ValidateStatus func(ctx context.Context, obj, old runtime.Object) field.ErrorList
	// Warnings returns warnings for the client; old is nil on creation.
	Warnings func(ctx context.Context, obj, old runtime.Object) []string
}

// typedHooks holds hooks for the Go type T.
type typedHooks[T runtime.Object] struct {
	Default                        func(T)
	PrepareCreate                  func(T)
	PrepareUpdate, PrepareStatus   func(obj, old T)
	Validate                       func(T) field.ErrorList
	ValidateUpdate, ValidateStatus func(obj, old T) field.ErrorList
	Warnings                       func(ctx context.Context, obj, old T) []string
}

// hooks converts the typed functions to hooks.
func (t typedHooks[T]) hooks() Hooks {
	h := Hooks{
		PrepareUpdate: prepareUpdate(t.PrepareUpdate), PrepareStatus: prepareUpdate(t.PrepareStatus),
		ValidateUpdate: validateUpdate(t.ValidateUpdate), ValidateStatus: validateUpdate(t.ValidateStatus),
	}
	if t.Default != nil {
		h.Default = func(obj runtime.Object) { t.Default(obj.(T)) }
	}
	if t.PrepareCreate != nil {
		h.PrepareCreate = func(_ context.Context, obj runtime.Object) { t.PrepareCreate(obj.(T)) }
	}
	if t.Validate != nil {
		h.Validate = func(_ context.Context, obj runtime.Object) field.ErrorList { return t.Validate(obj.(T)) }
	}
	if t.Warnings != nil {
		h.Warnings = func(ctx context.Context, obj, old runtime.Object) []string {
			oldObj, _ := old.(T) // nil on creation
			return t.Warnings(ctx, obj.(T), oldObj)
		}
	}
	return withTermLimits(h)
}

func prepareUpdate[T runtime.Object](f func(obj, old T)) func(context.Context, runtime.Object, runtime.Object) {
	if f == nil {
		return nil
	}
	return func(_ context.Context, obj, old runtime.Object) { f(obj.(T), old.(T)) }
}

func validateUpdate[T runtime.Object](f func(obj, old T) field.ErrorList) func(context.Context, runtime.Object, runtime.Object) field.ErrorList {
	if f == nil {
		return nil
	}
	return func(_ context.Context, obj, old runtime.Object) field.ErrorList { return f(obj.(T), old.(T)) }
}
