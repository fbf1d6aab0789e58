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

// Eviction is a request to the eviction API, which then is the door: budgets are asked there, and the record
// is written there or, where the API server is not Berth's, afterwards by the loop of records.
type Eviction struct {
	Pod   *model.Pod // its uid is a precondition
	Grace *int64     // seconds that it gets to stop; nil: its own
	// Annotations go with the request; Berth's API server puts who asks and why into the record.
	Annotations map[string]string
}

// EvictionResult is the answer to an Eviction. A pod that was not there any more counts as granted.
type EvictionResult struct {
	Granted     bool
	AlreadyGone bool   // it was not there any more
	Message     string // of a refusal
	ByBudget    bool   // it was a budget's
	Permanent   bool   // it is no use to ask again before somebody changes something
}

// evictTimeout is how long the API server may take to answer.
const evictTimeout = 30 * time.Second

// Evict asks the API server for an eviction.
func Evict(ctx context.Context, client kubernetes.Interface, e Eviction) EvictionResult {
	ctx, cancel := context.WithTimeout(ctx, evictTimeout)
	defer cancel()
	uid := types.UID(e.Pod.UID)
	err := client.PolicyV1().Evictions(e.Pod.Namespace).Evict(ctx, &policyv1.Eviction{
		ObjectMeta:    metav1.ObjectMeta{Namespace: e.Pod.Namespace, Name: e.Pod.Name, Annotations: e.Annotations},
		DeleteOptions: &metav1.DeleteOptions{GracePeriodSeconds: e.Grace, Preconditions: &metav1.Preconditions{UID: &uid}},
	})
	switch {
	case err == nil:
		return EvictionResult{Granted: true}
	case apierrors.IsNotFound(err), apierrors.IsConflict(err) && strings.Contains(err.Error(), "UID"):
		return EvictionResult{Granted: true, AlreadyGone: true} // at most a namesake is there
	}
	words, budget := blockingReason(err)
	return EvictionResult{Message: words, ByBudget: budget || apierrors.IsTooManyRequests(err), Permanent: isPermanentEvictionError(err)}
}

// blockingReason is what stands in the way, where the API server says, and whether it is a budget; else what the error says.
func blockingReason(err error) (words string, budget bool) {
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

// isPermanentEvictionError says that it is no use to ask again: what is forbidden, and what kube-apiserver does
// not serve.
func isPermanentEvictionError(err error) bool {
	return apierrors.IsForbidden(err) || apierrors.IsInvalid(err) || apierrors.IsBadRequest(err) || apierrors.IsMethodNotSupported(err) ||
		strings.Contains(err.Error(), "more than one PodDisruptionBudget")
}
