package eviction

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/berthproject/berth/engine/displacement"
	"github.com/berthproject/berth/engine/model"
)

// Store gives access to the stored objects of one namespace. Its errors are API errors: NotFound for an absent
// object, Conflict for an unmet precondition.
type Store interface {
	// Lock serializes the requests of the namespace in this process until unlock is called. It only avoids conflicts,
	// so it may do nothing.
	Lock() (unlock func())
	Pod(ctx context.Context, name string) (*corev1.Pod, error)
	// Budgets returns at least the budgets that cover the pod. The handler does not modify them.
	Budgets(ctx context.Context, pod *corev1.Pod) ([]*policyv1.PodDisruptionBudget, error)
	// PodsOf returns the pods that the budgets select, each once.
	PodsOf(ctx context.Context, budgets []*policyv1.PodDisruptionBudget) ([]*model.Pod, error)
	// UpdatePod calls change with the stored pod, stores it and returns it. An empty uid is no precondition. An error
	// of change is returned unchanged.
	UpdatePod(ctx context.Context, name string, uid types.UID, change func(*corev1.Pod) error) (*corev1.Pod, error)
	// UpdateBudgetStatus calls change with the stored budget of b's UID, and stores it if change returns true. If
	// unchanged is set, the stored budget must have b's resource version.
	UpdateBudgetStatus(ctx context.Context, b *policyv1.PodDisruptionBudget, unchanged bool, change func(*policyv1.PodDisruptionBudget) bool) error
	// Record records the displacement. It is called before the pod is deleted, and again after a retry.
	Record(ctx context.Context, r *displacement.Record) error
	DeletePod(ctx context.Context, name string, o *metav1.DeleteOptions) error
	// Detach returns a context that the client cannot cancel. It ends before an entry in a budget expires.
	Detach(ctx context.Context) (context.Context, context.CancelFunc)
	Now() time.Time
	// Sleep waits for at most d, or until ctx is done.
	Sleep(ctx context.Context, d time.Duration)
}
