package subresource

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	policyv1beta1 "k8s.io/api/policy/v1beta1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metavalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/generic/registry"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/util/dryrun"

	"github.com/berthproject/berth/engine/budget"
	"github.com/berthproject/berth/engine/displacement"
	"github.com/berthproject/berth/internal/conversion"
)

// EvictionOptions configures EvictionREST.
type EvictionOptions struct {
	Rules budget.Evictions
	// Refund refunds the budgets that a failed eviction has debited.
	Refund bool
	// IncludeReason adds the reason to the message of a rejection.
	IncludeReason bool
}

// EvictionREST serves pods/eviction. It evicts a pod unless a disruption budget forbids it.
//
// engine/budget makes the decision from the budgets and pods that are stored now. The debit of a
// budget is an update that fails if the budget has changed since it was read; EvictionREST then
// retries. So two requests, in this process or another, never use the same disruption. After the
// debit it sets the DisruptionTarget condition, records the displacement and deletes the pod.
type EvictionREST struct {
	pods, budgets *registry.Store
	deleter       rest.GracefulDeleter // of pods
	record        func(context.Context, *displacement.Record) error
	options       EvictionOptions
	converter     *conversion.Converter

	// Requests of one namespace are serialized from the budget check to the debit, to avoid
	// conflicts.
	namespaceLocks [64]sync.Mutex
	seed           maphash.Seed
}

var (
	_ rest.NamedCreater             = &EvictionREST{}
	_ rest.GroupVersionKindProvider = &EvictionREST{}
	_ rest.GroupVersionAcceptor     = &EvictionREST{}
)

// NewEvictionREST returns the storage of pods/eviction. deleter deletes pods. recordEviction is
// called with each displacement before the pod is deleted, and again after a retry.
func NewEvictionREST(pods, budgets *registry.Store, deleter rest.GracefulDeleter, recordEviction func(context.Context, *displacement.Record) error, o EvictionOptions) *EvictionREST {
	return &EvictionREST{pods: pods, budgets: budgets, deleter: deleter, record: recordEviction, options: o, converter: conversion.New(), seed: maphash.MakeSeed()}
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

const (
	evictionAttempts = 20
	// maxEvictionRetryDelay is the upper bound of the backoff between attempts.
	maxEvictionRetryDelay = 500 * time.Millisecond
)

// errRetry means that the pod or a budget changed after it was read.
var errRetry = errors.New("the object changed concurrently")

// evictionRequest is the state of one eviction.
type evictionRequest struct {
	name       string
	opts       *metav1.DeleteOptions
	dryRun     bool
	debits     []budgetDebit
	debitedPod types.UID // UID of the pod that was debited
	// markedVersion is the resource version of the pod after this request set the condition.
	markedVersion string
	// condition is the DisruptionTarget condition that this request set, or nil if the pod already
	// had one. previousCondition is what it replaced.
	condition, previousCondition *corev1.PodCondition

	requestedBy string // the user, and the requester that it acts for, if any
	reason      string // the reason in the request
}

// Annotations of an eviction with the requester and the reason, from Berth and from the
// descheduler. They are part of the displacement record.
var (
	requestedByAnnotations = []string{"berth.dev/requested-by", "requested-by"}
	reasonAnnotations      = []string{"berth.dev/reason", "reason"}
)

// annotation returns the first annotation that is set, truncated to 256 bytes.
func annotation(eviction *policyv1.Eviction, names []string) string {
	for _, n := range names {
		if text := eviction.Annotations[n]; text != "" {
			return strings.ToValidUTF8(text[:min(len(text), 256)], "")
		}
	}
	return ""
}

func newEvictionRequest(ctx context.Context, eviction *policyv1.Eviction, opts *metav1.DeleteOptions) *evictionRequest {
	r := &evictionRequest{name: eviction.Name, opts: opts, dryRun: dryrun.IsDryRun(opts.DryRun), reason: annotation(eviction, reasonAnnotations)}
	if u, ok := genericapirequest.UserFrom(ctx); ok {
		r.requestedBy = u.GetName()
	}
	if by := annotation(eviction, requestedByAnnotations); by != "" {
		r.requestedBy += " for " + by
	}
	return r
}

// Create evicts the named pod, or returns the reason why it cannot.
func (e *EvictionREST) Create(ctx context.Context, name string, obj runtime.Object, validate rest.ValidateObjectFunc, options *metav1.CreateOptions) (runtime.Object, error) {
	eviction, ok := obj.(*policyv1.Eviction)
	if !ok {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("want an Eviction, got %T", obj))
	}
	if name != eviction.Name {
		return nil, apierrors.NewBadRequest("name in URL does not match name in Eviction object")
	}
	opts, err := deleteOptions(eviction, options)
	if err != nil {
		return nil, err
	}
	if validate != nil {
		if err := validate(ctx, eviction.DeepCopyObject()); err != nil {
			return nil, err
		}
	}
	r := newEvictionRequest(ctx, eviction, opts)
	for attempt := range evictionAttempts {
		if err = e.tryEvict(ctx, r); !errors.Is(err, errRetry) {
			break
		}
		sleepBeforeRetry(ctx, attempt)
	}
	if err != nil {
		e.refundFailed(ctx, r)
	}
	switch {
	case errors.Is(err, errRetry):
		return nil, apierrors.NewTimeoutError(fmt.Sprintf("pod %s/%s or its disruption budgets changed during %d attempts to evict it", genericapirequest.NamespaceValue(ctx), name, evictionAttempts), 10)
	case err != nil:
		return nil, err
	}
	return &metav1.Status{Status: metav1.StatusSuccess, Code: http.StatusCreated}, nil
}

// sleepBeforeRetry sleeps with exponential backoff and jitter.
func sleepBeforeRetry(ctx context.Context, attempt int) {
	maxDelay := min(maxEvictionRetryDelay, 5*time.Millisecond<<min(attempt, 10))
	t := time.NewTimer(maxDelay/2 + rand.N(maxDelay/2+1))
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	}
}

// deleteOptions returns the options of the eviction. The body or the URL can request a dry run.
func deleteOptions(eviction *policyv1.Eviction, options *metav1.CreateOptions) (*metav1.DeleteOptions, error) {
	opts := eviction.DeleteOptions.DeepCopy()
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

// tryEvict makes one attempt. It returns errRetry if an object changed concurrently.
func (e *EvictionREST) tryEvict(ctx context.Context, r *evictionRequest) error {
	pod, guarded, err := e.grant(ctx, r)
	if err != nil {
		return err
	}
	// Finish a debited eviction even if the client disconnects.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
	defer cancel()
	return e.evict(ctx, r, pod, guarded)
}

// grant checks the budgets and debits them. It returns the pod and whether the pod must not change
// until it is deleted.
func (e *EvictionREST) grant(ctx context.Context, r *evictionRequest) (*corev1.Pod, bool, error) {
	lock := &e.namespaceLocks[maphash.String(e.seed, genericapirequest.NamespaceValue(ctx))%uint64(len(e.namespaceLocks))]
	lock.Lock()
	defer lock.Unlock()
	obj, err := e.pods.Get(ctx, r.name, &metav1.GetOptions{})
	if err != nil {
		return nil, false, err
	}
	pod, ok := obj.(*corev1.Pod)
	if !ok {
		return nil, false, fmt.Errorf("want a Pod named %s, got %T", r.name, obj)
	}
	if e.options.Refund {
		if err := r.checkPreconditions(pod); err != nil {
			return nil, false, err
		}
	}
	v, budgets, err := e.checkBudgets(ctx, r, pod)
	if err != nil {
		return nil, false, err
	}
	if v.Result != budget.Granted {
		return nil, false, e.refusalError(v)
	}
	if !r.dryRun {
		if err := e.debit(ctx, r, pod, v, budgets); err != nil {
			return nil, false, err
		}
	}
	return pod, v.RequireUnchanged || r.sharesDisruptionTarget(pod), nil
}

// sharesDisruptionTarget reports whether another eviction set the DisruptionTarget condition, and
// may have debited the budgets. If that eviction fails and reverts both, this one must not
// continue.
func (r *evictionRequest) sharesDisruptionTarget(pod *corev1.Pod) bool {
	c := conversion.ActiveDisruptionTarget(pod)
	return c != nil && pod.DeletionTimestamp == nil && (r.condition == nil || !equality.Semantic.DeepEqual(r.condition, c))
}
