package displacer

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berthproject/berth/engine/displacement"
	"github.com/berthproject/berth/engine/model"
)

// Store is the API as a displacement uses it. Its errors are API errors: NotFound for an absent object, Conflict for
// an unmet precondition. The caller may modify returned objects, but not the data that they refer to.
type Store interface {
	Pod(ctx context.Context, namespace, name string) (*corev1.Pod, error)
	Budget(ctx context.Context, namespace, name string) (*policyv1.PodDisruptionBudget, error)
	// UpdateBudget writes the status of a budget, unless the stored one has another resource version. It returns the
	// stored budget.
	UpdateBudget(ctx context.Context, b *policyv1.PodDisruptionBudget) (*policyv1.PodDisruptionBudget, error)
	// SetCondition writes the status of the pod with the UID of w.Pod.
	SetCondition(ctx context.Context, w ConditionWrite) (ConditionResult, error)
	// RestoreCondition replaces the DisruptionTarget condition of a pod that has not changed since it was read; nil
	// removes it.
	RestoreCondition(ctx context.Context, p *corev1.Pod, c *corev1.PodCondition) error
	// Record writes the record. If the API server permanently rejects the event, Record reports that before it
	// returns the error.
	Record(ctx context.Context, r *displacement.Record) error
	Delete(ctx context.Context, p *model.Pod, o metav1.DeleteOptions) error
}

// ConditionWrite is a write of the status of a pod.
type ConditionWrite struct {
	Pod       *model.Pod
	Condition *corev1.PodCondition // nil: none
	Phase     corev1.PodPhase      // empty: unchanged
	Version   string               // required resource version; empty: any
}

// ConditionResult is the result of a ConditionWrite.
type ConditionResult struct {
	Pod      *corev1.Pod // after the write
	Set      bool        // the write set the condition; the pod did not have an active one, or it is replaced
	Previous *corev1.PodCondition
}

// EvictionStore is the Store with which the API server executes evictions.
type EvictionStore interface {
	Store
	// Lock serializes the requests of a namespace in this process until unlock is called. It only avoids conflicts, so
	// it may do nothing.
	Lock() (unlock func())
	// Budgets returns at least the budgets that cover the pod. The caller does not modify them.
	Budgets(ctx context.Context, p *model.Pod) ([]*policyv1.PodDisruptionBudget, error)
	// Members returns the pods that the budgets select, each once.
	Members(ctx context.Context, budgets []*policyv1.PodDisruptionBudget) ([]*model.Pod, error)
	// Detach returns a context that the client cannot cancel. The context ends before a disruptedPods entry that the
	// same attempt wrote expires.
	Detach(ctx context.Context) (context.Context, context.CancelFunc)
	// Sleep waits for at most d, or until ctx is done.
	Sleep(ctx context.Context, d time.Duration)
}
