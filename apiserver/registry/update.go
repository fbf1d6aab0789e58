package registry

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	genericregistry "k8s.io/apiserver/pkg/registry/generic/registry"
	"k8s.io/apiserver/pkg/registry/rest"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/berthproject/berth/apiserver/kinds"
)

// updateStrategy is the update strategy of a subresource.
type updateStrategy struct {
	strategy
	update kinds.UpdateSubresource
}

// statusUpdate returns the rules of the status subresource.
func statusUpdate(k kinds.Kind) kinds.UpdateSubresource {
	return kinds.UpdateSubresource{
		Prepare: func(ctx context.Context, obj, old runtime.Object) {
			copyContent(obj, old)
			if k.PrepareStatus != nil {
				k.PrepareStatus(ctx, obj, old)
			}
		},
		Validate:    k.ValidateStatus,
		ResetFields: append(contentPaths(k.New()), k.ResetOnStatusUpdate...),
	}
}

func (s updateStrategy) AllowCreateOnUpdate(context.Context) bool { return false }

func (s updateStrategy) PrepareForUpdate(ctx context.Context, obj, old runtime.Object) {
	if s.update.Prepare != nil {
		s.update.Prepare(ctx, obj, old)
	}
	s.updateGeneration(obj, old)
}

func (s updateStrategy) ValidateUpdate(ctx context.Context, obj, old runtime.Object) field.ErrorList {
	if s.update.Validate == nil {
		return nil
	}
	return s.update.Validate(ctx, obj, old)
}

func (s updateStrategy) WarningsOnUpdate(ctx context.Context, obj, old runtime.Object) []string {
	if s.update.Warnings == nil {
		return nil
	}
	return s.update.Warnings(ctx, obj, old)
}

func (s updateStrategy) GetResetFields() map[fieldpath.APIVersion]*fieldpath.Set {
	if len(s.update.ResetFields) == 0 {
		return nil
	}
	return map[fieldpath.APIVersion]*fieldpath.Set{
		fieldpath.APIVersion(s.kind.GroupVersion.String()): pathSet(s.update.ResetFields),
	}
}

// SubresourceREST serves get, update and patch of a subresource that updates the object itself.
type SubresourceREST struct {
	store                  *genericregistry.Store
	kind                   schema.GroupKind
	strictResourceVersions bool
}

var (
	_ rest.Patcher             = &SubresourceREST{}
	_ rest.ResetFieldsStrategy = &SubresourceREST{}
	_ rest.TableConvertor      = &SubresourceREST{}
)

// newSubresourceREST returns a subresource that shares the store of main.
func newSubresourceREST(main *REST, s strategy, rules kinds.UpdateSubresource) *SubresourceREST {
	store := *main.Store
	update := updateStrategy{strategy: s, update: rules}
	store.UpdateStrategy = update
	store.ResetFieldsStrategy = update
	store.BeginUpdate = nil // only the main resource allocates
	return &SubresourceREST{store: &store, kind: s.kind.GroupVersionKind().GroupKind(), strictResourceVersions: main.strictResourceVersions}
}

// New returns an empty object of the kind.
func (r *SubresourceREST) New() runtime.Object { return r.store.New() }

// Destroy does nothing: the main resource owns the store.
func (r *SubresourceREST) Destroy() {}

// Get reads the object.
func (r *SubresourceREST) Get(ctx context.Context, name string, options *metav1.GetOptions) (runtime.Object, error) {
	return r.store.Get(ctx, name, options)
}

// Update updates an existing object. It never creates one.
func (r *SubresourceREST) Update(ctx context.Context, name string, info rest.UpdatedObjectInfo, create rest.ValidateObjectFunc, update rest.ValidateObjectUpdateFunc, _ bool, options *metav1.UpdateOptions) (runtime.Object, bool, error) {
	if r.strictResourceVersions {
		info = withResourceVersionCheck(r.kind, name, info)
	}
	return r.store.Update(ctx, name, info, create, update, false, options)
}

// GetResetFields implements rest.ResetFieldsStrategy.
func (r *SubresourceREST) GetResetFields() map[fieldpath.APIVersion]*fieldpath.Set {
	return r.store.GetResetFields()
}

// ConvertToTable implements rest.TableConvertor, for `kubectl get --subresource`.
func (r *SubresourceREST) ConvertToTable(ctx context.Context, object, options runtime.Object) (*metav1.Table, error) {
	return r.store.ConvertToTable(ctx, object, options)
}
