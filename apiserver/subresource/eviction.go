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

// EvictionOptions say how evictions are answered.
type EvictionOptions struct {
	Rules budget.Evictions
	// Refund gives back what was taken from budgets for an eviction that then failed.
	Refund bool
	// IncludeReason puts the reason of a refusal into its message, too.
	IncludeReason bool
}

// EvictionREST serves pods/eviction: a request to delete a pod that disruption budgets may refuse.
//
// The answer is engine/budget's, from the budgets and pods that the store has now. What it takes from a budget is one
// update that fails if the budget has changed since it was read; then all is asked again. So no
// two requests, in this process or another, count on the same disruption. The pod then gets its
// DisruptionTarget condition, the event tells, and it is deleted.
type EvictionREST struct {
	pods, budgets *registry.Store
	deleter       rest.GracefulDeleter // of pods
	record        func(context.Context, *displacement.Record) error
	options       EvictionOptions
	converter     *conversion.Converter

	// Requests of one namespace take turns from asking to booking, lest they only conflict.
	namespaceLocks [64]sync.Mutex
	seed           maphash.Seed
}

var (
	_ rest.NamedCreater             = &EvictionREST{}
	_ rest.GroupVersionKindProvider = &EvictionREST{}
	_ rest.GroupVersionAcceptor     = &EvictionREST{}
)

// NewEvictionREST serves pods/eviction. Deleter deletes pods by their own rules; tell is told of
// each displacement before the pod is deleted, and again if it fails.
func NewEvictionREST(pods, budgets *registry.Store, deleter rest.GracefulDeleter, tell func(context.Context, *displacement.Record) error, o EvictionOptions) *EvictionREST {
	return &EvictionREST{pods: pods, budgets: budgets, deleter: deleter, record: tell, options: o, converter: conversion.New(), seed: maphash.MakeSeed()}
}

// New returns what a request carries.
func (e *EvictionREST) New() runtime.Object { return &policyv1.Eviction{} }

// Destroy does nothing: the stores belong to their kinds.
func (e *EvictionREST) Destroy() {}

// GroupVersionKind is Eviction in policy/v1.
func (e *EvictionREST) GroupVersionKind(schema.GroupVersion) schema.GroupVersionKind {
	return policyv1.SchemeGroupVersion.WithKind("Eviction")
}

// AcceptsGroupVersion also takes the version that old clients send.
func (e *EvictionREST) AcceptsGroupVersion(gv schema.GroupVersion) bool {
	return gv == policyv1.SchemeGroupVersion || gv == policyv1beta1.SchemeGroupVersion
}

const (
	evictionAttempts = 20
	// maxEvictionRetryDelay is the longest pause between tries; it grows to that.
	maxEvictionRetryDelay = 500 * time.Millisecond
)

// errRetry: what the answer was made from has changed meanwhile.
var errRetry = errors.New("it has changed meanwhile")

// evictionRequest is one eviction as far as it has come.
type evictionRequest struct {
	name       string
	opts       *metav1.DeleteOptions
	dryRun     bool
	debits     []budgetDebit
	debitedPod types.UID // that was paid for
	// markedVersion is the pod's resource version after this request has marked it.
	markedVersion string
	// condition is the DisruptionTarget condition that this request has written, nil if another was there; before is what it replaced.
	condition, previousCondition *corev1.PodCondition

	requestedBy string // and on whose behalf, if the request says that
	reason      string // in the request's own words
}

// Annotations of an eviction that say who wants it and why, Berth's and the descheduler's; they go into the record.
var (
	requestedByAnnotations = []string{"berth.dev/requested-by", "requested-by"}
	reasonAnnotations      = []string{"berth.dev/reason", "reason"}
)

// annotation is the first of some annotations that is there, cut to a length that fits a record.
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

// Create evicts the pod called name, or says why not.
func (e *EvictionREST) Create(ctx context.Context, name string, obj runtime.Object, validate rest.ValidateObjectFunc, options *metav1.CreateOptions) (runtime.Object, error) {
	eviction, ok := obj.(*policyv1.Eviction)
	if !ok {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("want an Eviction, have %T", obj))
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
	for try := range evictionAttempts {
		if err = e.tryEvict(ctx, r); !errors.Is(err, errRetry) {
			break
		}
		sleepBeforeRetry(ctx, try)
	}
	if err != nil {
		e.refundFailed(ctx, r)
	}
	switch {
	case errors.Is(err, errRetry):
		return nil, apierrors.NewTimeoutError(fmt.Sprintf("pod %s/%s and its disruption budgets changed %d times while it was to be evicted", genericapirequest.NamespaceValue(ctx), name, evictionAttempts), 10)
	case err != nil:
		return nil, err
	}
	return &metav1.Status{Status: metav1.StatusSuccess, Code: http.StatusCreated}, nil
}

// sleepBeforeRetry waits longer from try to try, never quite the same time.
func sleepBeforeRetry(ctx context.Context, try int) {
	longest := min(maxEvictionRetryDelay, 5*time.Millisecond<<min(try, 10))
	t := time.NewTimer(longest/2 + rand.N(longest/2+1))
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	}
}

// deleteOptions are those in the eviction; a dry run may be asked for there or in the URL.
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

// tryEvict evicts unless something changes meanwhile.
func (e *EvictionREST) tryEvict(ctx context.Context, r *evictionRequest) error {
	pod, guarded, err := e.grant(ctx, r)
	if err != nil {
		return err
	}
	// What is paid for is done, even if whoever asked has gone.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
	defer cancel()
	return e.evict(ctx, r, pod, guarded)
}

// grant asks the budgets and books what it takes. It returns the pod that it is granted for, and
// whether only as it is.
func (e *EvictionREST) grant(ctx context.Context, r *evictionRequest) (*corev1.Pod, bool, error) {
	turn := &e.namespaceLocks[maphash.String(e.seed, genericapirequest.NamespaceValue(ctx))%uint64(len(e.namespaceLocks))]
	turn.Lock()
	defer turn.Unlock()
	obj, err := e.pods.Get(ctx, r.name, &metav1.GetOptions{})
	if err != nil {
		return nil, false, err
	}
	pod, ok := obj.(*corev1.Pod)
	if !ok {
		return nil, false, fmt.Errorf("want a Pod called %s, have %T", r.name, obj)
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

// sharesDisruptionTarget says that another eviction has marked the pod, and perhaps paid for it: if that one fails, and takes both back, this one
// must not go on.
func (r *evictionRequest) sharesDisruptionTarget(pod *corev1.Pod) bool {
	i := slices.IndexFunc(pod.Status.Conditions, isDisruptionTarget)
	return i >= 0 && pod.DeletionTimestamp == nil && (r.condition == nil || !equality.Semantic.DeepEqual(*r.condition, pod.Status.Conditions[i]))
}
