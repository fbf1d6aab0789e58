package kinds

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// The adapters below convert a typed function to a hook. The registry passes only objects of the
// kind's own type.

func defaults[T runtime.Object](rule func(T)) func(runtime.Object) {
	return func(obj runtime.Object) { rule(obj.(T)) }
}

func prepare[T runtime.Object](rule func(T)) func(context.Context, runtime.Object) {
	return func(_ context.Context, obj runtime.Object) { rule(obj.(T)) }
}

func prepareUpdate[T runtime.Object](rule func(obj, old T)) func(context.Context, runtime.Object, runtime.Object) {
	return func(_ context.Context, obj, old runtime.Object) { rule(obj.(T), old.(T)) }
}

func check[T runtime.Object](rule func(T) field.ErrorList) func(context.Context, runtime.Object) field.ErrorList {
	return func(_ context.Context, obj runtime.Object) field.ErrorList { return rule(obj.(T)) }
}

func checkUpdate[T runtime.Object](rule func(obj, old T) field.ErrorList) func(context.Context, runtime.Object, runtime.Object) field.ErrorList {
	return func(_ context.Context, obj, old runtime.Object) field.ErrorList { return rule(obj.(T), old.(T)) }
}

// warn passes a nil T as old on creation.
func warn[T runtime.Object](rule func(ctx context.Context, obj, old T) []string) func(context.Context, runtime.Object, runtime.Object) []string {
	return func(ctx context.Context, obj, old runtime.Object) []string {
		before, _ := old.(T)
		return rule(ctx, obj.(T), before)
	}
}
