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

// updateStrategy is the main strategy with the rules of one subresource.
type updateStrategy struct {
	strategy
	rules kinds.Update
}

// statusRules are the rules of the status subresource, from the row of the kind.
func statusRules(k kinds.Kind) kinds.Update {
	return kinds.Update{
		Prepare: func(ctx context.Context, obj, old runtime.Object) {
			copyContent(obj, old)
			if k.PrepareStatus != nil {
				k.PrepareStatus(ctx, obj, old)
			}
		},
		Validate: k.ValidateStatus,
		Resets:   append(contentPaths(k.New()), k.ResetOnStatus...),
	}
}

func (s updateStrategy) AllowCreateOnUpdate(context.Context) bool { return false }

func (s updateStrategy) PrepareForUpdate(ctx context.Context, obj, old runtime.Object) {
	if s.rules.Prepare != nil {
		s.rules.Prepare(ctx, obj, old)
	}
	s.count(obj, old)
}

func (s updateStrategy) ValidateUpdate(ctx context.Context, obj, old runtime.Object) field.ErrorList {
	if s.rules.Validate == nil {
		return nil
	}
	return s.rules.Validate(ctx, obj, old)
}

func (s updateStrategy) WarningsOnUpdate(ctx context.Context, obj, old runtime.Object) []string {
	if s.rules.Warnings == nil {
		return nil
	}
	return s.rules.Warnings(ctx, obj, old)
}

func (s updateStrategy) GetResetFields() map[fieldpath.APIVersion]*fieldpath.Set {
	if len(s.rules.Resets) == 0 {
		return nil
	}
	return map[fieldpath.APIVersion]*fieldpath.Set{
		fieldpath.APIVersion(s.kind.GroupVersion.String()): pathSet(s.rules.Resets),
	}
}

// UpdateREST serves get, update and patch of a subresource that is the object itself.
type UpdateREST struct {
	store          *genericregistry.Store
	kind           schema.GroupKind
	strictVersions bool
}

var (
	_ rest.Patcher             = &UpdateREST{}
	_ rest.ResetFieldsStrategy = &UpdateREST{}
	_ rest.TableConvertor      = &UpdateREST{}
)

// newUpdateREST shares the storage of main under the rules.
func newUpdateREST(main *REST, s strategy, rules kinds.Update) *UpdateREST {
	store := *main.Store
	special := updateStrategy{strategy: s, rules: rules}
	store.UpdateStrategy = special
	store.ResetFieldsStrategy = special
	store.BeginUpdate, store.AfterUpdate = nil, nil // addresses are the main resource's
	return &UpdateREST{store: &store, kind: s.kind.GroupVersionKind().GroupKind(), strictVersions: main.strictVersions}
}

// New returns an empty object of the kind.
func (r *UpdateREST) New() runtime.Object { return r.store.New() }

// Destroy does nothing: the storage belongs to the main resource.
func (r *UpdateREST) Destroy() {}

// Get reads the object.
func (r *UpdateREST) Get(ctx context.Context, name string, options *metav1.GetOptions) (runtime.Object, error) {
	return r.store.Get(ctx, name, options)
}

// Update changes an object that exists; it never creates one.
func (r *UpdateREST) Update(ctx context.Context, name string, info rest.UpdatedObjectInfo, create rest.ValidateObjectFunc, update rest.ValidateObjectUpdateFunc, _ bool, options *metav1.UpdateOptions) (runtime.Object, bool, error) {
	if r.strictVersions {
		info = numbered(r.kind, name, info)
	}
	return r.store.Update(ctx, name, info, create, update, false, options)
}

// GetResetFields tells server-side apply what this subresource drops.
func (r *UpdateREST) GetResetFields() map[fieldpath.APIVersion]*fieldpath.Set {
	return r.store.GetResetFields()
}

// ConvertToTable serves `kubectl get --subresource`.
func (r *UpdateREST) ConvertToTable(ctx context.Context, object, options runtime.Object) (*metav1.Table, error) {
	return r.store.ConvertToTable(ctx, object, options)
}
