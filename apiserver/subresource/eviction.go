package subresource

import (
	"context"
	"fmt"
	"hash/maphash"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	policyv1 "k8s.io/api/policy/v1"
	policyv1beta1 "k8s.io/api/policy/v1beta1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metavalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/generic/registry"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/util/dryrun"

	"github.com/berthproject/berth/engine/displacement"
	"github.com/berthproject/berth/internal/conversion"
	"github.com/berthproject/berth/internal/eviction"
)

// EvictionREST serves pods/eviction. It evicts a pod unless a disruption budget forbids it.
type EvictionREST struct {
	pods, budgets *registry.Store
	deleter       rest.GracefulDeleter // of pods
	record        func(context.Context, *displacement.Record) error
	handler       *eviction.Handler

	// namespaceLocks serialize the requests of a namespace from the budget check to the debit, to avoid conflicts.
	namespaceLocks [64]sync.Mutex
	seed           maphash.Seed
}

var (
	_ rest.NamedCreater             = &EvictionREST{}
	_ rest.GroupVersionKindProvider = &EvictionREST{}
	_ rest.GroupVersionAcceptor     = &EvictionREST{}
)

// NewEvictionREST returns the storage of pods/eviction. deleter deletes pods. The storage calls
// recordEviction with each displacement before it deletes the pod, and again after a retry.
func NewEvictionREST(pods, budgets *registry.Store, deleter rest.GracefulDeleter, recordEviction func(context.Context, *displacement.Record) error, o eviction.Options) *EvictionREST {
	return &EvictionREST{pods: pods, budgets: budgets, deleter: deleter, record: recordEviction, handler: eviction.New(o, conversion.New(), time.Now), seed: maphash.MakeSeed()}
}

// New implements rest.Storage.
func (e *EvictionREST) New() runtime.Object { return &policyv1.Eviction{} }

// Destroy does nothing: the kinds own the stores.
func (e *EvictionREST) Destroy() {}

// GroupVersionKind returns Eviction in policy/v1.
func (e *EvictionREST) GroupVersionKind(schema.GroupVersion) schema.GroupVersionKind {
	return policyv1.SchemeGroupVersion.WithKind("Eviction")
}

// AcceptsGroupVersion also accepts policy/v1beta1, which old clients send.
func (e *EvictionREST) AcceptsGroupVersion(gv schema.GroupVersion) bool {
	return gv == policyv1.SchemeGroupVersion || gv == policyv1beta1.SchemeGroupVersion
}

// Annotations of an eviction with the requester and the reason, from Berth and from the
// descheduler. They are part of the displacement record.
var (
	requestedByAnnotations = []string{"berth.dev/requested-by", "requested-by"}
	reasonAnnotations      = []string{"berth.dev/reason", "reason"}
)

// annotation returns the first annotation that is set, truncated to 256 bytes.
func annotation(e *policyv1.Eviction, names []string) string {
	for _, n := range names {
		if text := e.Annotations[n]; text != "" {
			return strings.ToValidUTF8(text[:min(len(text), 256)], "")
		}
	}
	return ""
}

func newEvictionRequest(ctx context.Context, e *policyv1.Eviction, opts *metav1.DeleteOptions) eviction.Request {
	r := eviction.Request{Namespace: genericapirequest.NamespaceValue(ctx), Name: e.Name, Options: opts, DryRun: dryrun.IsDryRun(opts.DryRun), Reason: annotation(e, reasonAnnotations)}
	if u, ok := genericapirequest.UserFrom(ctx); ok {
		r.RequestedBy = u.GetName()
	}
	if by := annotation(e, requestedByAnnotations); by != "" {
		r.RequestedBy += " for " + by
	}
	return r
}

// Create evicts the named pod, or returns the reason why it cannot.
func (e *EvictionREST) Create(ctx context.Context, name string, obj runtime.Object, validate rest.ValidateObjectFunc, options *metav1.CreateOptions) (runtime.Object, error) {
	requested, ok := obj.(*policyv1.Eviction)
	if !ok {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("want an Eviction, got %T", obj))
	}
	if name != requested.Name {
		return nil, apierrors.NewBadRequest("name in URL does not match name in Eviction object")
	}
	opts, err := deleteOptions(requested, options)
	if err != nil {
		return nil, err
	}
	if validate != nil {
		if err := validate(ctx, requested.DeepCopyObject()); err != nil {
			return nil, err
		}
	}
	r := newEvictionRequest(ctx, requested, opts)
	lock := &e.namespaceLocks[maphash.String(e.seed, r.Namespace)%uint64(len(e.namespaceLocks))]
	if err := e.handler.Evict(ctx, evictionStore{EvictionREST: e, lock: lock}, r); err != nil {
		return nil, err
	}
	return &metav1.Status{Status: metav1.StatusSuccess, Code: http.StatusCreated}, nil
}

// deleteOptions returns the options of the eviction. The body or the URL can request a dry run.
func deleteOptions(e *policyv1.Eviction, options *metav1.CreateOptions) (*metav1.DeleteOptions, error) {
	opts := e.DeleteOptions.DeepCopy()
	if opts == nil {
		opts = &metav1.DeleteOptions{}
	}
	if errs := metavalidation.ValidateDeleteOptions(opts); len(errs) > 0 {
		return nil, apierrors.NewInvalid(schema.GroupKind{Group: metav1.GroupName, Kind: "DeleteOptions"}, "", errs)
	}
	switch {
	case len(opts.DryRun) == 0:
		opts.DryRun = options.DryRun
	case len(options.DryRun) > 0 && !slices.Equal(opts.DryRun, options.DryRun):
		return nil, apierrors.NewBadRequest(fmt.Sprintf("Non-matching dry-run options in request and content: %v and %v", options.DryRun, opts.DryRun))
	}
	return opts, nil
}
