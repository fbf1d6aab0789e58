package eviction

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/berthproject/berth/engine/budget"
	"github.com/berthproject/berth/internal/conversion"
)

// Options are the rules of evictions.
type Options struct {
	Rules budget.Evictions
	// Refund refunds the budgets that a failed eviction has debited.
	Refund bool
	// IncludeReason adds the reason to the message of a rejection.
	IncludeReason bool
}

// Handler executes evictions. Its methods may be called concurrently.
type Handler struct {
	options   Options
	converter *conversion.Converter
}

// New returns a handler. The converter converts disruption budgets.
func New(o Options, c *conversion.Converter) *Handler { return &Handler{options: o, converter: c} }

// Request is an eviction to execute.
type Request struct {
	Namespace, Name string
	Options         *metav1.DeleteOptions // not nil, valid
	DryRun          bool
	// RequestedBy is the user, and the requester that the user acts for, if any. Reason is the reason in the request.
	RequestedBy, Reason string
}

// Retries of an eviction if an object changes concurrently.
const (
	maxAttempts = 20
	// maxRetryDelay is the upper bound of the backoff between attempts.
	maxRetryDelay = 500 * time.Millisecond
)

// retryError ends an attempt that Evict must repeat.
type retryError struct{ error }

// errChanged ends an attempt because an object changed after it was read.
var errChanged = retryError{errors.New("the pod or its disruption budgets changed concurrently")}

// eviction is the state of one request.
type eviction struct {
	Request
	*Handler
	store      Store
	debits     []budgetDebit
	debitedPod types.UID // UID of the pod that was debited
	// conditionVersion is the resource version of the pod after this request set the condition.
	conditionVersion string
	// condition is the DisruptionTarget condition that this request set, or nil if the pod already
	// had one. previousCondition is what it replaced.
	condition, previousCondition *corev1.PodCondition
}

// Evict evicts the pod, or returns an API error with the reason why it cannot.
func (h *Handler) Evict(ctx context.Context, s Store, r Request) error {
	e := &eviction{Request: r, Handler: h, store: s}
	var err error
	var retry retryError
	for attempt := range maxAttempts {
		if err = e.try(ctx); !errors.As(err, &retry) {
			break
		}
		s.Sleep(ctx, min(maxRetryDelay, 5*time.Millisecond<<min(attempt, 10)))
	}
	if err != nil {
		refundCtx, cancel := s.Detach(ctx)
		defer cancel()
		e.refundFailed(refundCtx)
	}
	if errors.As(err, &retry) {
		return apierrors.NewTimeoutError(fmt.Sprintf("evicting pod %s/%s: %d attempts failed, the last one with: %v", r.Namespace, r.Name, maxAttempts, retry), 10)
	}
	return err
}

// try makes one attempt. It returns a retryError if Evict must make another one.
func (e *eviction) try(ctx context.Context) error {
	pod, guarded, err := e.grant(ctx)
	if err != nil {
		return err
	}
	// Finish a debited eviction even if the client disconnects.
	detached, cancel := e.store.Detach(ctx)
	defer cancel()
	return e.displace(detached, pod, guarded)
}

// grant checks the budgets and debits them. It returns the pod and whether the pod must not change
// until it is deleted.
func (e *eviction) grant(ctx context.Context) (*corev1.Pod, bool, error) {
	defer e.store.Lock()()
	pod, err := e.store.Pod(ctx, e.Name)
	if err != nil {
		return nil, false, err
	}
	if e.options.Refund {
		if err := e.checkPreconditions(pod); err != nil {
			return nil, false, err
		}
	}
	v, budgets, err := e.checkBudgets(ctx, pod)
	if err != nil {
		return nil, false, err
	}
	if v.Result != budget.Granted {
		return nil, false, e.refusal(v)
	}
	if !e.DryRun {
		if err := e.debit(ctx, pod, v, budgets); err != nil {
			return nil, false, err
		}
	}
	return pod, v.RequireUnchanged || e.sharesDisruptionTarget(pod), nil
}

// sharesDisruptionTarget reports whether another eviction set the DisruptionTarget condition, and
// may have debited the budgets. If that eviction fails and reverts both, this one must not
// continue.
func (e *eviction) sharesDisruptionTarget(pod *corev1.Pod) bool {
	c := conversion.ActiveDisruptionTarget(pod)
	return c != nil && pod.DeletionTimestamp == nil && (e.condition == nil || !equality.Semantic.DeepEqual(e.condition, c))
}

// checkPreconditions returns a conflict, with the message of a delete, if the pod does not meet the
// preconditions. It ignores the change that an earlier attempt of this request made.
func (e *eviction) checkPreconditions(pod *corev1.Pod) error {
	kind := schema.GroupResource{Resource: "Pod"}
	p := e.Options.Preconditions
	switch {
	case p == nil:
	case p.UID != nil && *p.UID != pod.UID:
		return apierrors.NewConflict(kind, pod.Name, fmt.Errorf("the UID in the precondition (%s) does not match the UID in record (%s). The object might have been deleted and then recreated", *p.UID, pod.UID))
	case p.ResourceVersion != nil && *p.ResourceVersion != pod.ResourceVersion && e.conditionVersion != pod.ResourceVersion:
		return apierrors.NewConflict(kind, pod.Name, fmt.Errorf("the ResourceVersion in the precondition (%s) does not match the ResourceVersion in record (%s). The object might have been modified", *p.ResourceVersion, pod.ResourceVersion))
	}
	return nil
}
