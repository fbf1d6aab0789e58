package drain

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

// evictTimeout is how long the API server may take to answer.
const evictTimeout = 30 * time.Second

// evict asks the API server for an eviction.
func evict(ctx context.Context, client kubernetes.Interface, p *model.Pod, grace *int64) Answer {
	ctx, cancel := context.WithTimeout(ctx, evictTimeout)
	defer cancel()
	uid := types.UID(p.UID)
	err := client.PolicyV1().Evictions(p.Namespace).Evict(ctx, &policyv1.Eviction{
		ObjectMeta:    metav1.ObjectMeta{Namespace: p.Namespace, Name: p.Name},
		DeleteOptions: &metav1.DeleteOptions{GracePeriodSeconds: grace, Preconditions: &metav1.Preconditions{UID: &uid}},
	})
	switch {
	case err == nil, apierrors.IsNotFound(err), apierrors.IsConflict(err) && strings.Contains(err.Error(), "UID"):
		return Answer{Granted: true} // it goes, or is gone and at most a namesake is there
	}
	return Answer{Words: words(err), Final: final(err)}
}

// words are an error's with what stands in the way, where the API server says.
func words(err error) string {
	status, ok := err.(apierrors.APIStatus)
	if !ok || status.Status().Details == nil {
		return err.Error()
	}
	for _, c := range status.Status().Details.Causes {
		if c.Type == policyv1.DisruptionBudgetCause && c.Message != "" {
			return c.Message
		}
	}
	return err.Error()
}

// final says that it is no use to ask again: what is forbidden, and what kube-apiserver does
// not serve.
func final(err error) bool {
	return apierrors.IsForbidden(err) || apierrors.IsInvalid(err) || apierrors.IsBadRequest(err) || apierrors.IsMethodNotSupported(err) ||
		strings.Contains(err.Error(), "more than one PodDisruptionBudget")
}
