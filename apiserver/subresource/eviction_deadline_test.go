package subresource_test

import (
	"context"
	"testing"
	"time"

	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/registry/rest"

	"github.com/berthproject/berth/apiserver/subresource"
	"github.com/berthproject/berth/engine/budget"
	"github.com/berthproject/berth/engine/displacement"
	"github.com/berthproject/berth/internal/eviction"
)

// deadlineDeleter records the deadline of a deletion.
type deadlineDeleter struct {
	rest.GracefulDeleter
	deadline time.Time
}

func (d *deadlineDeleter) Delete(ctx context.Context, name string, v rest.ValidateObjectFunc, o *metav1.DeleteOptions) (runtime.Object, bool, error) {
	d.deadline, _ = ctx.Deadline()
	return d.GracefulDeleter.Delete(ctx, name, v, o)
}

// TestWritesOfEvictionHaveOneDeadline checks that after the debit, the client cannot cancel an eviction. All its
// writes have one deadline, before the entry in the budget expires.
func TestWritesOfEvictionHaveOneDeadline(t *testing.T) {
	e := newEvictionTest(t)
	e.pod("a", nil)
	ctx, disconnect := context.WithCancel(e.ctx)
	var recorded time.Time
	deleter := &deadlineDeleter{GracefulDeleter: e.pods}
	r := subresource.NewEvictionREST(e.pods.Store, e.budgets.Store, deleter, func(ctx context.Context, _ *displacement.Record) error {
		disconnect()
		recorded, _ = ctx.Deadline()
		return ctx.Err()
	}, eviction.Options{})
	_, err := r.Create(ctx, "a", &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "a"}}, rest.ValidateAllObjectFunc, &metav1.CreateOptions{})
	if err != nil || recorded.IsZero() || !recorded.Equal(deleter.deadline) || time.Until(recorded) > budget.EntryAge {
		t.Errorf("got error %v, deadline of the record %v and of the deletion %v, want the same within %v", err, recorded, deleter.deadline, budget.EntryAge)
	}
}
