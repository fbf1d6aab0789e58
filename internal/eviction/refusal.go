package eviction

import (
	"errors"
	"net/http"
	"strings"
	"time"

	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berthproject/berth/engine/budget"
)

const refusedMessage = "Cannot evict pod as it would violate the pod's disruption budget."

// refusal returns the error for an eviction that a budget does not allow.
func (h *Handler) refusal(v budget.Verdict) error {
	cause := metav1.StatusCause{Type: policyv1.DisruptionBudgetCause, Message: v.Reason}
	message := refusedMessage
	if h.options.IncludeReason {
		message += " " + strings.TrimSuffix(v.Reason, ".") + "."
	}
	switch v.Result {
	case budget.MultipleBudgets:
		return &apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure, Code: http.StatusInternalServerError, Message: v.Reason}}
	case budget.Forbidden:
		err := apierrors.NewForbidden(policyv1.Resource("poddisruptionbudgets"), v.Budget.Name, errors.New(v.Reason))
		err.ErrStatus.Details.Causes = append(err.ErrStatus.Details.Causes, cause)
		return err
	}
	err := apierrors.NewTooManyRequests(message, int(v.RetryAfter/time.Second))
	err.ErrStatus.Details.Causes = append(err.ErrStatus.Details.Causes, cause)
	return err
}
