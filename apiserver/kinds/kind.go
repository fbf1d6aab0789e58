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

// Kind describes one resource. Only GroupVersion, Kind, Resource, New and
// NewList are required; every hook may be nil. Typed rules are fitted into the
// hooks by the adapters in hooks.go (defaults, check, checkUpdate, ...).
type Kind struct {
	// GroupVersion is the served and stored version.
	GroupVersion schema.GroupVersion
	// Kind is the name of the Go type, e.g. "Pod".
	Kind string
	// Resource is the plural, e.g. "pods".
	Resource string
	// Singular is Kind in lower case if empty.
	Singular string
	// ShortNames and Categories are what kubectl accepts besides, e.g. "po", "all".
	ShortNames, Categories []string
	// Namespaced says that objects live in a namespace.
	Namespaced bool

	// New and NewList make empty values of the k8s.io/api types.
	New, NewList func() runtime.Object
	// Hub is set where the kind shares the store of another one: it is that
	// kind's Go type, and AddConversions turns one into the other.
	Hub *Hub
	// Virtual kinds are answered, not stored (TokenReview and the like): the
	// server is handed their storage from elsewhere.
	Virtual bool

	// HasStatus gives the kind a status subresource; the main resource then
	// ignores changes of status and the subresource all others.
	HasStatus bool
	// ResetOnStatusUpdate are further paths that PrepareStatus restores, such as
	// "metadata.labels". Everything but status and metadata is restored anyway.
	ResetOnStatusUpdate []string
	// KeepStatusOnCreate stores the status that the creator sent (Node);
	// otherwise a kind with status starts with an empty one.
	KeepStatusOnCreate bool
	// Generation says what the registry does to metadata.generation.
	Generation Generation

	// Default fills what the request left out. It runs on every decode, of
	// requests and of stored data, and must be idempotent.
	Default func(obj runtime.Object)
	// PrepareCreate and PrepareUpdate run after admission and before validation. Status is
	// reset by the registry before PrepareCreate (kind HasStatus), and restored
	// from old before PrepareUpdate.
	PrepareCreate func(ctx context.Context, obj runtime.Object)
	PrepareUpdate func(ctx context.Context, obj, old runtime.Object)
	// PrepareStatus runs on writes to the status subresource, after everything
	// but status and metadata was restored from old.
	PrepareStatus func(ctx context.Context, obj, old runtime.Object)
	// Validate, ValidateUpdate and ValidateStatus judge a write, metadata
	// included (names have another form for each kind). A kind without them
	// gets the library's check that metadata is sound and nothing more.
	Validate       func(ctx context.Context, obj runtime.Object) field.ErrorList
	ValidateUpdate func(ctx context.Context, obj, old runtime.Object) field.ErrorList
	ValidateStatus func(ctx context.Context, obj, old runtime.Object) field.ErrorList
	// Warnings are texts for the client that do not refuse the write; old is nil on creation.
	Warnings func(ctx context.Context, obj, old runtime.Object) []string

	// GracefulDelete decides whether a delete waits, and for how long: it sets
	// options.GracePeriodSeconds, which must not be nil afterwards.
	GracefulDelete func(ctx context.Context, obj runtime.Object, options *metav1.DeleteOptions) bool
	// ReturnDeleted answers a delete with the object instead of a Status.
	ReturnDeleted bool
	// NoGarbageCollection keeps finalizers for dependents off the object (Event).
	NoGarbageCollection bool
	// OrphansByDefault keeps dependents where a delete does not say what to do with them (Job,
	// ReplicationController, as they always did; kubectl always says).
	OrphansByDefault bool
	// AllowCreateOnUpdate lets PUT create the object (Lease, Endpoints, Node-less kinds).
	AllowCreateOnUpdate bool
	// RequireVersionOnUpdate refuses a PUT without resourceVersion.
	RequireVersionOnUpdate bool
	// TTL in seconds after which the store drops the object; 0 keeps it.
	TTL func(obj runtime.Object) uint64

	// Fields are the selectable fields besides metadata.name and
	// metadata.namespace, with their values for obj. It must return the same keys for every
	// object, an empty one included.
	Fields func(obj runtime.Object) fields.Set
	// FieldAliases are other names of selectable fields.
	FieldAliases map[string]string
	// Trigger names one of Fields for which watches are indexed, e.g. "spec.nodeName".
	Trigger string
	// NoWatchCache serves lists and watches straight from etcd (Events).
	NoWatchCache bool

	// Columns and Row make a Table; without them apiserver/tables has the
	// kind's, or else shows name and time of creation.
	Columns []metav1.TableColumnDefinition
	Row     func(obj runtime.Object) ([]any, error)

	// UpdateSubresources are subresources that write the object itself under rules of
	// their own, by name (ephemeralcontainers, resize, finalize). Status is one of them, made
	// from HasStatus.
	UpdateSubresources map[string]UpdateSubresource
	// Subresources are all others, by name (binding, scale).
	Subresources map[string]func(Stores) rest.Storage
	// Setup may add transactions to the store (allocation of addresses).
	Setup func(*genericregistry.Store) error
	// NoDeleteCollection refuses to delete many objects by one request.
	NoDeleteCollection bool
	// Delete replaces the generic delete of one object (Namespace).
	Delete func(ctx context.Context, store *genericregistry.Store, name string, validate rest.ValidateObjectFunc, options *metav1.DeleteOptions) (runtime.Object, bool, error)
	// StoredOnly marks kinds that nothing acts on yet: a create is answered
	// with a Warning, if the server is set so.
	StoredOnly bool
}

// Generation is a policy for metadata.generation.
type Generation int

const (
	// NoGeneration leaves it at zero (ConfigMap, Node), or to the kind's hooks.
	NoGeneration Generation = iota
	// FixedGeneration sets 1 at creation and nothing afterwards (PriorityClass).
	FixedGeneration
	// CountedGeneration sets 1 at creation and adds 1 when anything but metadata and status changes.
	CountedGeneration
)

// UpdateSubresource is a subresource that writes the object under rules of its own.
type UpdateSubresource struct {
	// Prepare restores from old what the subresource must not change.
	Prepare func(ctx context.Context, obj, old runtime.Object)
	// Validate judges the result; nil accepts what the library accepts.
	Validate func(ctx context.Context, obj, old runtime.Object) field.ErrorList
	// Warnings as in Kind.
	Warnings func(ctx context.Context, obj, old runtime.Object) []string
	// ResetFields are the fields (dotted paths) that Prepare restores: nobody can
	// come to own them through this subresource.
	ResetFields []string
}

// Hub names the kind whose store is shared, and converts to and from its type.
type Hub struct {
	// Of is the group and resource that owns the store.
	Of schema.GroupResource
	// AddConversions registers conversions between the two Go types.
	AddConversions func(*runtime.Scheme) error
}

// Stores is what a subresource may reach: the store of its own kind and of all others.
type Stores struct {
	// Own is the store of the kind that the subresource belongs to.
	Own *genericregistry.Store
	// Of finds the store of any stored kind, nil if there is none.
	Of func(schema.GroupResource) *genericregistry.Store
}

// GroupResource is the key under which the kind is stored.
func (k Kind) GroupResource() schema.GroupResource {
	return schema.GroupResource{Group: k.GroupVersion.Group, Resource: k.Resource}
}

// GroupVersionKind is the kind's full name.
func (k Kind) GroupVersionKind() schema.GroupVersionKind {
	return k.GroupVersion.WithKind(k.Kind)
}
