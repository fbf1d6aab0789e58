package eviction

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/berthproject/berth/engine/displacement"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/internal/conversion"
)

// failingStore holds one pod without budgets. Recording and deleting fail.
type failingStore struct {
	pod               corev1.Pod
	records           int
	recordErr, delErr error
}

func (*failingStore) Lock() func() { return func() {} }
func (s *failingStore) Pod(context.Context, string) (*corev1.Pod, error) {
	return s.pod.DeepCopy(), nil
}
func (*failingStore) Budgets(context.Context, *corev1.Pod) ([]*policyv1.PodDisruptionBudget, error) {
	return nil, nil
}
func (*failingStore) PodsOf(context.Context, []*policyv1.PodDisruptionBudget) ([]*model.Pod, error) {
	return nil, nil
}
func (s *failingStore) UpdatePod(_ context.Context, _ string, _ types.UID, change func(*corev1.Pod) error) (*corev1.Pod, error) {
	return s.pod.DeepCopy(), change(&s.pod)
}
func (*failingStore) UpdateBudgetStatus(context.Context, *policyv1.PodDisruptionBudget, bool, func(*policyv1.PodDisruptionBudget) bool) error {
	return nil
}
func (s *failingStore) Record(context.Context, *displacement.Record) error {
	s.records++
	return s.recordErr
}
func (s *failingStore) DeletePod(context.Context, string, *metav1.DeleteOptions) error {
	return s.delErr
}
func (*failingStore) Detach(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithCancel(ctx)
}
func (*failingStore) Now() time.Time                       { return time.Unix(0, 0) }
func (*failingStore) Sleep(context.Context, time.Duration) {}

// TestErrorNamesTheCauseOfRetries checks that the error after the last attempt names the cause of the failures.
func TestErrorNamesTheCauseOfRetries(t *testing.T) {
	conflict := apierrors.NewConflict(corev1.Resource("pods"), "web", errors.New("the UID differs"))
	for want, s := range map[string]*failingStore{
		"recording the displacement: the disk is full":           {recordErr: errors.New("the disk is full")},
		"the pod or its disruption budgets changed concurrently": {delErr: conflict},
	} {
		s.pod = corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web", UID: "uid"}}
		err := New(Options{}, conversion.New()).Evict(t.Context(), s, Request{Namespace: "default", Name: "web", Options: &metav1.DeleteOptions{}})
		if !apierrors.IsTimeout(err) || !strings.HasSuffix(err.Error(), want) || s.records != maxAttempts {
			t.Errorf("error %v after %d records, want a timeout that ends with %q after %d", err, s.records, want, maxAttempts)
		}
	}
}
