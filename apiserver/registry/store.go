package registry

import (
	"context"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/registry/generic"
	genericregistry "k8s.io/apiserver/pkg/registry/generic/registry"
	"k8s.io/apiserver/pkg/registry/rest"
	apistorage "k8s.io/apiserver/pkg/storage"

	"github.com/berthproject/berth/apiserver/kinds"
)

// REST serves the main resource of a kind.
type REST struct {
	*genericregistry.Store
	// WrapUpdate, if set, runs the updates of the main resource.
	WrapUpdate func(ctx context.Context, update func(context.Context) (runtime.Object, bool, error)) (runtime.Object, bool, error)
	// WrapCreate, if set, runs the creations of the main resource. It calls create with a validation that includes the
	// given one.
	WrapCreate func(ctx context.Context, validation rest.ValidateObjectFunc, create func(context.Context, rest.ValidateObjectFunc) (runtime.Object, error)) (runtime.Object, error)

	kind                   kinds.Kind
	strictResourceVersions bool
}

var (
	_ rest.StandardStorage      = &REST{}
	_ rest.ShortNamesProvider   = &REST{}
	_ rest.CategoriesProvider   = &REST{}
	_ rest.SingularNameProvider = &REST{}
)

// Create creates an object, through WrapCreate if it is set.
func (r *REST) Create(ctx context.Context, obj runtime.Object, validation rest.ValidateObjectFunc, o *metav1.CreateOptions) (runtime.Object, error) {
	create := func(ctx context.Context, validation rest.ValidateObjectFunc) (runtime.Object, error) {
		return r.Store.Create(ctx, obj, validation, o)
	}
	if r.WrapCreate == nil {
		return create(ctx, validation)
	}
	return r.WrapCreate(ctx, validation, create)
}

// ShortNames implements rest.ShortNamesProvider.
func (r *REST) ShortNames() []string { return r.kind.ShortNames }

// Categories implements rest.CategoriesProvider.
func (r *REST) Categories() []string { return r.kind.Categories }

// Delete deletes an object, with Kind.Delete if it is set.
func (r *REST) Delete(ctx context.Context, name string, validate rest.ValidateObjectFunc, options *metav1.DeleteOptions) (runtime.Object, bool, error) {
	if r.kind.Delete != nil {
		return r.kind.Delete(ctx, r.Store, name, validate, options)
	}
	return r.Store.Delete(ctx, name, validate, options)
}

// Storage returns the storage to install for the kind.
func (r *REST) Storage() rest.Storage {
	if r.kind.NoDeleteCollection {
		return noDeleteCollection{r: r}
	}
	return r
}

// Config is common to all stores.
type Config struct {
	// Options returns the storage options of a resource.
	Options generic.RESTOptionsGetter
	// Typer maps Go types to kinds.
	Typer runtime.ObjectTyper
	// WarnStoredOnly returns a warning when an object of a stored-only kind is created.
	WarnStoredOnly bool
	// StrictResourceVersions makes the store reject non-numeric resource versions with a client
	// error.
	StrictResourceVersions bool
}

// New returns the storage of a kind with its own store.
func New(kind kinds.Kind, c Config) (*REST, error) {
	s := newStrategy(kind, c.Typer, c.WarnStoredOnly)
	resource := kind.GroupResource()
	store := &genericregistry.Store{
		NewFunc:                   kind.New,
		NewListFunc:               kind.NewList,
		DefaultQualifiedResource:  resource,
		SingularQualifiedResource: schema.GroupResource{Group: resource.Group, Resource: singular(kind)},
		CreateStrategy:            s,
		UpdateStrategy:            s,
		DeleteStrategy:            s,
		ResetFieldsStrategy:       s,
		ReturnDeletedObject:       kind.ReturnDeleted,
		TableConvertor:            tableConvertor{columns: kind.Columns, row: kind.Row},
		PredicateFunc:             predicate(kind),
	}
	if kind.TTL != nil {
		store.TTLFunc = func(obj runtime.Object, _ uint64, _ bool) (uint64, error) { return kind.TTL(obj), nil }
	}
	options := &generic.StoreOptions{RESTOptions: c.Options, AttrFunc: attributes(kind)}
	if kind.Trigger != "" {
		options.TriggerFunc = apistorage.IndexerFuncs{kind.Trigger: func(obj runtime.Object) string { return kind.Fields(obj)[kind.Trigger] }}
	}
	if err := store.CompleteWithOptions(options); err != nil {
		return nil, fmt.Errorf("store of %s: %w", resource, err)
	}
	if kind.Setup != nil {
		if err := kind.Setup(store); err != nil {
			return nil, fmt.Errorf("store of %s: %w", resource, err)
		}
	}
	return &REST{Store: store, kind: kind, strictResourceVersions: c.StrictResourceVersions}, nil
}

// NewShared returns the storage of a kind that shares the store of owner. It differs in columns,
// names and version only.
func NewShared(kind kinds.Kind, owner *REST, c Config) *REST {
	shared := owner.kind
	shared.GroupVersion, shared.Kind, shared.Resource, shared.Singular = kind.GroupVersion, kind.Kind, kind.Resource, kind.Singular
	shared.ShortNames, shared.Categories = kind.ShortNames, kind.Categories
	store := *owner.Store
	store.TableConvertor = tableConvertor{columns: kind.Columns, row: kind.Row}
	store.ResetFieldsStrategy = newStrategy(shared, c.Typer, c.WarnStoredOnly)
	return &REST{Store: &store, kind: shared, strictResourceVersions: owner.strictResourceVersions}
}

// Subresources returns all subresources of the kind, by name.
func (r *REST) Subresources(c Config, storeOf func(schema.GroupResource) *genericregistry.Store) map[string]rest.Storage {
	s := newStrategy(r.kind, c.Typer, false)
	subresources := map[string]rest.Storage{}
	if r.kind.HasStatus {
		subresources["status"] = newSubresourceREST(r, s, statusUpdate(r.kind))
	}
	for name, rules := range r.kind.UpdateSubresources {
		subresources[name] = newSubresourceREST(r, s, rules)
	}
	for name, build := range r.kind.Subresources {
		subresources[name] = build(kinds.Stores{Parent: r.Store, Of: storeOf})
	}
	return subresources
}

func singular(kind kinds.Kind) string {
	if kind.Singular != "" {
		return kind.Singular
	}
	return strings.ToLower(kind.Kind)
}

// attributes returns a function that computes the labels and fields for selectors.
func attributes(kind kinds.Kind) apistorage.AttrFunc {
	return func(obj runtime.Object) (labels.Set, fields.Set, error) {
		accessor, err := meta.Accessor(obj)
		if err != nil {
			return nil, nil, err
		}
		set := fields.Set{}
		if kind.Fields != nil {
			set = kind.Fields(obj)
		}
		set["metadata.name"] = accessor.GetName()
		if kind.Namespaced {
			set["metadata.namespace"] = accessor.GetNamespace()
		}
		return accessor.GetLabels(), set, nil
	}
}

func predicate(kind kinds.Kind) func(labels.Selector, fields.Selector) apistorage.SelectionPredicate {
	attrs := attributes(kind)
	return func(label labels.Selector, field fields.Selector) apistorage.SelectionPredicate {
		p := apistorage.SelectionPredicate{Label: label, Field: field, GetAttrs: attrs}
		if kind.Trigger != "" {
			p.IndexFields = []string{kind.Trigger}
		}
		return p
	}
}
