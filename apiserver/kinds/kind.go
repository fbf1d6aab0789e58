package kinds

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	genericregistry "k8s.io/apiserver/pkg/registry/generic/registry"
	"k8s.io/apiserver/pkg/registry/rest"
)

// Kind describes a served resource. GroupVersion, Kind, Resource and New are required, and NewList except for virtual
// kinds that cannot be listed. Every hook may be nil. The adapters in hooks.go convert typed functions to hooks.
type Kind struct {
	// GroupVersion is the served version. If Hub is nil, it is also the stored version.
	GroupVersion schema.GroupVersion
	// Kind is the name of the Go type, e.g. "Pod".
	Kind string
	// Resource is the plural name, e.g. "pods".
	Resource string
	// Singular is the singular name. The default is Kind in lower case.
	Singular string
	// ShortNames and Categories are the additional names in kubectl, e.g. "po", "all".
	ShortNames, Categories []string
	// Namespaced reports whether objects are namespaced.
	Namespaced bool

	// New and NewList return empty objects of the k8s.io/api types.
	New, NewList func() runtime.Object
	// Hub is set if the kind shares the store of another kind, whose Go type is stored. That is a
	// kind of another group, or the stored version of the same kind. The stored version comes first
	// in the table. A kind with a Hub has only the hook Default: the other hooks run on the stored type.
	Hub *Hub
	// Virtual kinds are not stored (e.g. TokenReview). The server creates their storage
	// separately.
	Virtual bool

	// HasStatus adds a status subresource. The main resource then ignores changes of status. The
	// subresource ignores changes of all fields except status and metadata.
	HasStatus bool
	// ResetOnStatusUpdate are additional paths that PrepareStatus restores, such as
	// "metadata.labels". Everything except status and metadata is always restored.
	ResetOnStatusUpdate []string
	// KeepStatusOnCreate stores the status that the creator sent (Node). Otherwise the status
	// starts empty.
	KeepStatusOnCreate bool
	// Generation is how the registry manages metadata.generation.
	Generation Generation

	// Hooks are the defaulting, preparation, validation and warnings of the kind.
	Hooks

	// GracefulDelete reports whether a delete is graceful. It must set options.GracePeriodSeconds.
	GracefulDelete func(ctx context.Context, obj runtime.Object, options *metav1.DeleteOptions) bool
	// ReturnDeleted returns the object from a delete instead of a Status.
	ReturnDeleted bool
	// NoGarbageCollection disables the propagation policy of deletes (Event).
	NoGarbageCollection bool
	// OrphansByDefault orphans dependents if a delete has no propagation policy (Job,
	// ReplicationController).
	OrphansByDefault bool
	// AllowCreateOnUpdate lets PUT create the object (Lease, Endpoints and others).
	AllowCreateOnUpdate bool
	// RequireVersionOnUpdate rejects a PUT without resourceVersion.
	RequireVersionOnUpdate bool
	// TTL returns the lifetime of the object in seconds; 0 means unlimited.
	TTL func(obj runtime.Object) uint64

	// Fields returns the selectable fields of obj besides metadata.name and metadata.namespace. It
	// must return the same keys for every object, including an empty one.
	Fields func(obj runtime.Object) fields.Set
	// FieldAliases maps alternative field names to selectable fields.
	FieldAliases map[string]string
	// Trigger is the selectable field by which the watch cache is indexed, e.g. "spec.nodeName".
	Trigger string
	// NoWatchCache serves lists and watches directly from etcd (Event).
	NoWatchCache bool

	// Columns and Row define the Table of the kind. All sets them from apiserver/tables.
	Columns []metav1.TableColumnDefinition
	Row     func(obj runtime.Object) ([]any, error)

	// UpdateSubresources are subresources that update the object itself, by name
	// (ephemeralcontainers, resize, finalize). HasStatus adds the status subresource.
	UpdateSubresources map[string]UpdateSubresource
	// Subresources are all other subresources, by name (binding, scale).
	Subresources map[string]func(Stores) rest.Storage
	// Setup configures the store (Namespace). nil means no further configuration.
	Setup func(*genericregistry.Store) error
	// NoDeleteCollection disables the verb deletecollection.
	NoDeleteCollection bool
	// Delete replaces the generic delete of an object (Namespace).
	Delete func(ctx context.Context, store *genericregistry.Store, name string, validate rest.ValidateObjectFunc, options *metav1.DeleteOptions) (runtime.Object, bool, error)
	// StoredOnly marks kinds that no Berth controller acts on. Creating one returns a warning,
	// unless the server disables it.
	StoredOnly bool
}

// Generation is a policy for metadata.generation.
type Generation int

const (
	// NoGeneration leaves metadata.generation to the hooks (ConfigMap, Node).
	NoGeneration Generation = iota
	// FixedGeneration sets 1 on creation (PriorityClass).
	FixedGeneration
	// CountedGeneration sets 1 on creation and increments it when anything except metadata and
	// status changes.
	CountedGeneration
)

// UpdateSubresource is a subresource that updates the object with its own rules.
type UpdateSubresource struct {
	// Prepare restores from old what the subresource must not change.
	Prepare func(ctx context.Context, obj, old runtime.Object)
	// Validate validates the update. nil means generic validation only.
	Validate func(ctx context.Context, obj, old runtime.Object) field.ErrorList
	// Warnings returns warnings for the client, as in Hooks.
	Warnings func(ctx context.Context, obj, old runtime.Object) []string
	// ResetFields are the fields (dotted paths) that Prepare restores. No field manager can own
	// them through this subresource.
	ResetFields []string
}

// Hub describes the kind whose store is shared.
type Hub struct {
	// Of is the group and resource that owns the store.
	Of schema.GroupResource
	// AddConversions registers conversions between the two Go types.
	AddConversions func(*runtime.Scheme) error
}

// Stores gives a subresource access to stores.
type Stores struct {
	// Parent is the store of the parent resource.
	Parent *genericregistry.Store
	// Of returns the store of a kind, or nil if there is none.
	Of func(schema.GroupResource) *genericregistry.Store
}

// GroupResource returns the group and resource of the kind.
func (k Kind) GroupResource() schema.GroupResource {
	return schema.GroupResource{Group: k.GroupVersion.Group, Resource: k.Resource}
}

// GroupVersionKind returns the full name of the kind.
func (k Kind) GroupVersionKind() schema.GroupVersionKind {
	return k.GroupVersion.WithKind(k.Kind)
}
