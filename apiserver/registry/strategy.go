package registry

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/storage/names"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/berthproject/berth/apiserver/kinds"
)

// strategy implements the create, update and delete strategies of the main resource.
type strategy struct {
	runtime.ObjectTyper
	names.NameGenerator
	kind kinds.Kind
	// warnStoredOnly reports whether the creation of an object of a stored-only kind returns a warning.
	warnStoredOnly bool
}

var (
	_ rest.RESTCreateStrategy              = strategy{}
	_ rest.RESTUpdateStrategy              = strategy{}
	_ rest.RESTGracefulDeleteStrategy      = strategy{}
	_ rest.GarbageCollectionDeleteStrategy = strategy{}
	_ rest.ResetFieldsStrategy             = strategy{}
)

func newStrategy(kind kinds.Kind, typer runtime.ObjectTyper, warnStoredOnly bool) strategy {
	return strategy{ObjectTyper: typer, NameGenerator: names.SimpleNameGenerator, kind: kind, warnStoredOnly: warnStoredOnly && kind.StoredOnly}
}

func (s strategy) NamespaceScoped() bool { return s.kind.Namespaced }

func (s strategy) AllowCreateOnUpdate(context.Context) bool { return s.kind.AllowCreateOnUpdate }

func (s strategy) AllowUnconditionalUpdate(context.Context) bool {
	return !s.kind.RequireVersionOnUpdate
}

func (s strategy) Canonicalize(runtime.Object) {}

func (s strategy) PrepareForCreate(ctx context.Context, obj runtime.Object) {
	if s.kind.HasStatus && !s.kind.KeepStatusOnCreate {
		clearStatus(obj)
	}
	if s.kind.Generation != kinds.NoGeneration {
		setGeneration(obj, 1)
	}
	if s.kind.PrepareCreate != nil {
		s.kind.PrepareCreate(ctx, obj)
	}
}

func (s strategy) PrepareForUpdate(ctx context.Context, obj, old runtime.Object) {
	if s.kind.HasStatus {
		copyStatus(obj, old)
	}
	if s.kind.PrepareUpdate != nil {
		s.kind.PrepareUpdate(ctx, obj, old)
	}
	s.updateGeneration(obj, old)
}

// updateGeneration increments the generation if the content changes.
func (s strategy) updateGeneration(obj, old runtime.Object) {
	if s.kind.Generation == kinds.CountedGeneration && !sameContent(obj, old) {
		setGeneration(obj, generation(old)+1)
	}
}

func (s strategy) Validate(ctx context.Context, obj runtime.Object) field.ErrorList {
	if s.kind.Validate == nil {
		return nil
	}
	return s.kind.Validate(ctx, obj)
}

func (s strategy) ValidateUpdate(ctx context.Context, obj, old runtime.Object) field.ErrorList {
	if s.kind.ValidateUpdate == nil {
		return nil
	}
	return s.kind.ValidateUpdate(ctx, obj, old)
}

func (s strategy) WarningsOnCreate(ctx context.Context, obj runtime.Object) []string {
	var warnings []string
	if s.kind.Warnings != nil {
		warnings = s.kind.Warnings(ctx, obj, nil)
	}
	if s.warnStoredOnly {
		warnings = append(warnings, fmt.Sprintf("%s is stored, but no controller acts on it in this release", s.kind.Kind))
	}
	return warnings
}

func (s strategy) WarningsOnUpdate(ctx context.Context, obj, old runtime.Object) []string {
	if s.kind.Warnings == nil {
		return nil
	}
	return s.kind.Warnings(ctx, obj, old)
}

func (s strategy) CheckGracefulDelete(ctx context.Context, obj runtime.Object, options *metav1.DeleteOptions) bool {
	return s.kind.GracefulDelete != nil && s.kind.GracefulDelete(ctx, obj, options)
}

func (s strategy) DefaultGarbageCollectionPolicy(context.Context) rest.GarbageCollectionPolicy {
	if s.kind.NoGarbageCollection {
		return rest.Unsupported
	}
	if s.kind.OrphansByDefault {
		return rest.OrphanDependents
	}
	return rest.DeleteDependents
}

func (s strategy) GetResetFields() map[fieldpath.APIVersion]*fieldpath.Set {
	if !s.kind.HasStatus {
		return nil
	}
	return map[fieldpath.APIVersion]*fieldpath.Set{
		fieldpath.APIVersion(s.kind.GroupVersion.String()): pathSet([]string{"status"}),
	}
}

func generation(obj runtime.Object) int64 {
	accessor, err := meta.Accessor(obj)
	if err != nil {
		return 0 // unreachable: the library has already read the metadata
	}
	return accessor.GetGeneration()
}

func setGeneration(obj runtime.Object, n int64) {
	if accessor, err := meta.Accessor(obj); err == nil {
		accessor.SetGeneration(n)
	}
}
