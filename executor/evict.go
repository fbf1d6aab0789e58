package executor

import (
	"context"
	"strings"
	"time"

	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/berthproject/berth/engine/model"
)

// Eviction is a request to the eviction API. The API server then checks budgets and writes the record. If the
// server is not Berth's, the displacementrecords controller writes the record afterwards.
type Eviction struct {
	Pod   *model.Pod // its UID is a precondition
	Grace *int64     // grace period in seconds; nil: the pod's own
	// Annotations are sent with the request. Berth's API server copies the requester and the reason into the record.
	Annotations map[string]string
}

// EvictionResult is the response to an Eviction. Evicting a deleted pod counts as granted.
type EvictionResult struct {
	Granted        bool
	AlreadyDeleted bool   // the pod was deleted before the request
	Message        string // why the request was refused
	ByBudget       bool   // a disruption budget refused the request
	Permanent      bool   // a retry cannot succeed until something changes
}

// EvictTimeout is the recommended limit of one eviction request.
const EvictTimeout = 30 * time.Second

// Evict requests an eviction from the API server.
func Evict(ctx context.Context, client kubernetes.Interface, e Eviction) EvictionResult {
	uid := types.UID(e.Pod.UID)
	err := client.PolicyV1().Evictions(e.Pod.Namespace).Evict(ctx, &policyv1.Eviction{
		ObjectMeta:    metav1.ObjectMeta{Namespace: e.Pod.Namespace, Name: e.Pod.Name, Annotations: e.Annotations},
		DeleteOptions: &metav1.DeleteOptions{GracePeriodSeconds: e.Grace, Preconditions: &metav1.Preconditions{UID: &uid}},
	})
	switch {
	case err == nil:
		return EvictionResult{Granted: true}
	case apierrors.IsNotFound(err), apierrors.IsConflict(err) && strings.Contains(err.Error(), "UID"):
		return EvictionResult{Granted: true, AlreadyDeleted: true} // deleted, or replaced by another pod of the same name
	}
	message, byBudget := blockingReason(err)
	return EvictionResult{Message: message, ByBudget: byBudget || apierrors.IsTooManyRequests(err), Permanent: isPermanentEvictionError(err)}
}

// blockingReason returns the reason of a refusal, and whether it is a disruption budget.
func blockingReason(err error) (message string, byBudget bool) {
	status, ok := err.(apierrors.APIStatus)
	if !ok || status.Status().Details == nil {
		return err.Error(), false
	}
	for _, c := range status.Status().Details.Causes {
		if c.Type == policyv1.DisruptionBudgetCause && c.Message != "" {
			return c.Message, true
		}
	}
	return err.Error(), false
}

// isPermanentEvictionError reports whether a retry cannot succeed: the request is forbidden, invalid or not
// supported, or more than one budget covers the pod.
func isPermanentEvictionError(err error) bool {
	return apierrors.IsForbidden(err) || apierrors.IsInvalid(err) || apierrors.IsBadRequest(err) || apierrors.IsMethodNotSupported(err) ||
		strings.Contains(err.Error(), "more than one PodDisruptionBudget")
}
