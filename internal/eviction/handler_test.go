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

	"github.com/berthproject/berth/engine/displacement"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/internal/conversion"
	"github.com/berthproject/berth/internal/displacer"
)

// failingStore holds one pod without budgets. Recording and deleting fail.
type failingStore struct {
	displacer.EvictionStore
	pod               corev1.Pod
	records           int
	recordErr, delErr error
}

func (*failingStore) Lock() func() { return func() {} }
func (s *failingStore) Pod(context.Context, string, string) (*corev1.Pod, error) {
	return s.pod.DeepCopy(), nil
}
func (*failingStore) Budgets(context.Context, *model.Pod) ([]*policyv1.PodDisruptionBudget, error) {
	return nil, nil
}
func (s *failingStore) SetCondition(_ context.Context, w displacer.ConditionWrite) (displacer.ConditionResult, error) {
	set, previous := conversion.SetDisruptionTarget(&s.pod, *w.Condition)
	return displacer.ConditionResult{Pod: s.pod.DeepCopy(), Set: set, Previous: previous}, nil
}
func (s *failingStore) RestoreCondition(_ context.Context, _ *corev1.Pod, c *corev1.PodCondition) error {
	conversion.RestoreDisruptionTarget(&s.pod, c)
	return nil
}
func (s *failingStore) Record(context.Context, *displacement.Record) error {
	s.records++
	return s.recordErr
}
func (s *failingStore) Delete(context.Context, *model.Pod, metav1.DeleteOptions) error {
	return s.delErr
}
func (*failingStore) Detach(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithCancel(ctx)
}
func (*failingStore) Sleep(context.Context, time.Duration) {}

// TestErrorNamesTheCauseOfRetries checks that the error after the last attempt names the cause of the failures.
func TestErrorNamesTheCauseOfRetries(t *testing.T) {
	conflict := apierrors.NewConflict(corev1.Resource("pods"), "web", errors.New("the UID differs"))
	for want, s := range map[string]*failingStore{
		"recording the displacement: the disk is full":           {recordErr: errors.New("the disk is full")},
		"the pod or its disruption budgets changed concurrently": {delErr: conflict},
	} {
		s.pod = corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web", UID: "uid"}}
		err := New(Options{Refund: true}, conversion.New(), func() time.Time { return time.Unix(0, 0) }).Evict(t.Context(), s, Request{Namespace: "default", Name: "web", Options: &metav1.DeleteOptions{}})
		if c := conversion.DisruptionTarget(&s.pod); c != nil {
			t.Errorf("the pod has the condition %+v after a failed eviction, want none", c)
		}
		if !apierrors.IsTimeout(err) || !strings.HasSuffix(err.Error(), want) || s.records != displacement.MaxEvictionAttempts {
			t.Errorf("error %v after %d records, want a timeout that ends with %q after %d", err, s.records, want, displacement.MaxEvictionAttempts)
		}
	}
}
