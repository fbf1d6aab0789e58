package eviction

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/klog/v2"

	"github.com/berthproject/berth/engine/budget"
	"github.com/berthproject/berth/engine/displacement"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/internal/conversion"
	"github.com/berthproject/berth/internal/displacer"
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
	options Options
	driver  displacer.Driver
}

// New returns a handler. The converter converts disruption budgets; now returns the time.
func New(o Options, c *conversion.Converter, now func() time.Time) *Handler {
	return &Handler{options: o, driver: displacer.Driver{Now: now, ConvertBudget: c.Budget, OnUndoFailed: func(a displacement.Action, err error) {
		klog.ErrorS(err, "Failed to undo a failed eviction; its debits expire after two minutes", "action", fmt.Sprintf("%T", a))
	}}}
}

// Request is an eviction to execute.
type Request struct {
	Namespace, Name string
	Options         *metav1.DeleteOptions // not nil, valid
	DryRun          bool
	// RequestedBy is the user, and the requester that the user acts for, if any. Reason is the reason in the request.
	RequestedBy, Reason string
}

// Evict evicts the pod, or returns an API error with the reason why it cannot. Once the budgets are debited,
// the eviction is finished or undone even if the client disconnects.
func (h *Handler) Evict(ctx context.Context, s displacer.EvictionStore, r Request) error {
	o, failure := h.driver.Run(ctx, requestStore{s, r.Options}, h.spec(&r))
	switch o.Kind {
	case displacement.Displaced:
		return nil
	case displacement.Refused:
		return h.refusal(o.Verdict)
	case displacement.UnmetUID:
		return conflict(&r, "the UID in the precondition (%s) does not match the UID in record (%s). The object might have been deleted and then recreated", *r.Options.Preconditions.UID, o.Pod.UID)
	case displacement.UnmetVersion:
		return conflict(&r, "the ResourceVersion in the precondition (%s) does not match the ResourceVersion in record (%s). The object might have been modified", *r.Options.Preconditions.ResourceVersion, o.Pod.ResourceVersion)
	case displacement.Exhausted:
		return apierrors.NewTimeoutError(fmt.Sprintf("evicting pod %s/%s: %d attempts failed, the last one with: %v", r.Namespace, r.Name, displacement.MaxEvictionAttempts, lastCause(failure)), 10)
	}
	if a, ok := failure.Action.(displacement.WriteDebit); ok {
		return fmt.Errorf("debiting disruption budget %s for pod %s/%s: %w", a.Budget.Name, r.Namespace, r.Name, failure.Err)
	}
	return failure.Err
}

// spec returns the displacement that a request asks for.
func (h *Handler) spec(r *Request) displacement.Spec {
	e := &displacement.EvictionRequest{Rules: h.options.Rules, KeepDebits: !h.options.Refund, DryRun: r.DryRun}
	if p := r.Options.Preconditions; p != nil {
		if p.UID != nil {
			e.UID = string(*p.UID)
		}
		if p.ResourceVersion != nil {
			e.ResourceVersion = *p.ResourceVersion
		}
	}
	record := displacement.Record{Cause: displacement.API, Requester: r.RequestedBy, Rule: r.Reason, Grace: r.Options.GracePeriodSeconds}
	return displacement.Spec{Record: record, Attempt: 1, Eviction: e,
		Victims: []displacement.Victim{{Pod: &model.Pod{Namespace: r.Namespace, Name: r.Name}}}}
}

// conflict returns the error of an unmet precondition, with the message of a delete.
func conflict(r *Request, format string, args ...any) error {
	return apierrors.NewConflict(schema.GroupResource{Resource: "Pod"}, r.Name, fmt.Errorf(format, args...))
}

// lastCause returns why the last attempt failed.
func lastCause(f displacer.Failure) error {
	if _, ok := f.Action.(displacement.WriteRecord); ok {
		return fmt.Errorf("recording the displacement: %w", f.Err)
	}
	return errors.New("the pod or its disruption budgets changed concurrently")
}

// requestStore deletes with the options of the request.
type requestStore struct {
	displacer.EvictionStore
	options *metav1.DeleteOptions
}

func (s requestStore) Delete(ctx context.Context, p *model.Pod, o metav1.DeleteOptions) error {
	options := s.options.DeepCopy()
	options.Preconditions = o.Preconditions
	return s.EvictionStore.Delete(ctx, p, *options)
}
