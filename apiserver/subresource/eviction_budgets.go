package subresource

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/storage"
	"k8s.io/klog/v2"

	"github.com/berthproject/berth/engine/budget"
	"github.com/berthproject/berth/engine/displacement"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/internal/budgetstatus"
	"github.com/berthproject/berth/internal/conversion"
)

// budgetDebit is a disruption taken from a budget.
type budgetDebit struct {
	budget *policyv1.PodDisruptionBudget // before the debit
	entry  displacement.Entry
}

// checkBudgets evaluates the budgets of the pod and returns them by name. It reads the pods after
// the budgets, so that a disruption granted in between is visible either in disruptedPods or in the
// pods.
func (e *EvictionREST) checkBudgets(ctx context.Context, r *evictionRequest, pod *corev1.Pod) (budget.Verdict, map[string]*policyv1.PodDisruptionBudget, error) {
	obj, err := listLatest(ctx, e.budgets, labels.Everything())
	if err != nil {
		return budget.Verdict{}, nil, err
	}
	stored, ok := obj.(*policyv1.PodDisruptionBudgetList)
	if !ok {
		return budget.Verdict{}, nil, fmt.Errorf("want a list of disruption budgets, got %T", obj)
	}
	p := conversion.BudgetPod(pod)
	var budgets []*model.Budget
	byName := map[string]*policyv1.PodDisruptionBudget{}
	for i := range stored.Items {
		b := e.converter.Budget(&stored.Items[i])
		if budget.Ledger.Covers(b, p) {
			budgets = append(budgets, b)
			byName[b.Name] = &stored.Items[i]
		}
	}
	now := time.Now()
	rules := e.options.Rules
	for _, d := range r.debits {
		rules.OwnEntries = append(rules.OwnEntries, d.budget.Name)
	}
	recount := rules.Recount
	rules.Recount = false
	v := rules.Check(p, budgets, nil, now)
	if !recount || v.Result != budget.Granted || len(budgets) == 0 || p.Phase == model.Pending || p.Deleting || p.Finished() {
		return v, byName, nil
	}
	pods, err := e.podsUnderBudgets(ctx, byName)
	if err != nil {
		return budget.Verdict{}, nil, err
	}
	rules.Recount = true
	return rules.Check(p, budgets, pods, now), byName, nil
}

// podsUnderBudgets returns the pods that the budgets select. It reads only those, so the cost of an
// eviction does not grow with the other pods of the namespace.
func (e *EvictionREST) podsUnderBudgets(ctx context.Context, budgets map[string]*policyv1.PodDisruptionBudget) ([]*model.Pod, error) {
	var out []*model.Pod
	seen := map[types.UID]bool{}
	for _, b := range budgets {
		selector, err := metav1.LabelSelectorAsSelector(b.Spec.Selector)
		if err != nil {
			continue // an invalid selector selects no pods
		}
		list, err := listLatest(ctx, e.pods, selector)
		if err != nil {
			return nil, err
		}
		pods, ok := list.(*corev1.PodList)
		if !ok {
			return nil, fmt.Errorf("want a list of pods, got %T", list)
		}
		for i := range pods.Items {
			if p := &pods.Items[i]; !seen[p.UID] {
				seen[p.UID] = true
				out = append(out, conversion.BudgetPod(p))
			}
		}
	}
	return out, nil
}

// debit records the pod in each budget of the verdict, if the budget has not changed since it was
// read. Otherwise it refunds the debits made so far.
func (e *EvictionREST) debit(ctx context.Context, r *evictionRequest, pod *corev1.Pod, v budget.Verdict, budgets map[string]*policyv1.PodDisruptionBudget) error {
	n := len(r.debits)
	for _, m := range v.Debits {
		b := budgets[m.Name]
		debit := budgetstatus.Debit{Granted: []string{pod.Name}}
		var entry displacement.Entry
		err := e.updateBudget(ctx, b, &b.ResourceVersion, func(b *policyv1.PodDisruptionBudget) {
			entry = debit.Apply(b, time.Now())[pod.Name]
		})
		if err == nil {
			r.debitedPod = pod.UID
			r.debits = append(r.debits, budgetDebit{budget: b, entry: entry})
			continue
		}
		partial := evictionRequest{name: r.name, debits: r.debits[n:]}
		e.refund(ctx, &partial)
		r.debits = r.debits[:n]
		if storage.IsInvalidObj(err) || storage.IsNotFound(err) || storage.IsConflict(err) {
			return errRetry
		}
		return fmt.Errorf("debiting disruption budget %s for pod %s/%s: %w", b.Name, pod.Namespace, pod.Name, err)
	}
	return nil
}

// updateBudget updates the status of a budget directly in the store, without strategies and admission. version is an
// optional precondition.
func (e *EvictionREST) updateBudget(ctx context.Context, b *policyv1.PodDisruptionBudget, version *string, change func(*policyv1.PodDisruptionBudget)) error {
	key, err := e.budgets.KeyFunc(ctx, b.Name)
	if err != nil {
		return err
	}
	return e.budgets.Storage.GuaranteedUpdate(ctx, key, e.budgets.New(), false, &storage.Preconditions{UID: &b.UID, ResourceVersion: version},
		storage.SimpleUpdate(func(obj runtime.Object) (runtime.Object, error) {
			current, ok := obj.(*policyv1.PodDisruptionBudget)
			if !ok {
				return nil, fmt.Errorf("want a PodDisruptionBudget at %s, got %T", key, obj)
			}
			change(current)
			return current, nil
		}), false, nil)
}

// refundFailed refunds the debits of a failed request, unless the pod is being deleted or another
// request is evicting it and relies on the debit. It clears the condition first: a request that
// relies on the debit then reads a changed pod and retries.
func (e *EvictionREST) refundFailed(ctx context.Context, r *evictionRequest) {
	if !e.options.Refund || len(r.debits) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
	defer cancel()
	if e.clearDisruptionTarget(ctx, r) != nil {
		return // the entry expires, or the next recount drops it
	}
	e.refund(ctx, r)
}

// clearDisruptionTarget reverts the DisruptionTarget condition of this request. It returns an error
// if the pod is being deleted or another request has set the condition.
func (e *EvictionREST) clearDisruptionTarget(ctx context.Context, r *evictionRequest) error {
	key, err := e.pods.KeyFunc(ctx, r.name)
	if err != nil {
		return err
	}
	return e.pods.Storage.GuaranteedUpdate(ctx, key, &corev1.Pod{}, false, &storage.Preconditions{UID: &r.debitedPod}, storage.SimpleUpdate(func(obj runtime.Object) (runtime.Object, error) {
		pod, ok := obj.(*corev1.Pod)
		if !ok {
			return nil, fmt.Errorf("want a Pod at %s, got %T", key, obj)
		}
		c := conversion.ActiveDisruptionTarget(pod)
		switch {
		case pod.DeletionTimestamp != nil:
			return nil, errors.New("the pod is being deleted")
		case c == nil:
		case r.condition == nil || !equality.Semantic.DeepEqual(r.condition, c):
			return nil, errors.New("another request is evicting the pod")
		case r.previousCondition == nil:
			conversion.RemoveDisruptionTarget(pod)
		default:
			*c = *r.previousCondition
		}
		return pod, nil
	}), false, nil)
}

// refund refunds the debits of a request. Debits that cannot be refunded expire. Until then, they
// may prevent other evictions.
func (e *EvictionREST) refund(ctx context.Context, r *evictionRequest) {
	for _, d := range r.debits {
		err := e.updateBudget(ctx, d.budget, nil, func(b *policyv1.PodDisruptionBudget) {
			budgetstatus.Debit{Granted: []string{r.name}}.Refund(b, time.Now())
		})
		if err != nil && !storage.IsNotFound(err) && !storage.IsInvalidObj(err) {
			klog.ErrorS(err, "Failed to refund a disruption budget after a failed eviction; the entry expires after two minutes", "budget", klog.KObj(d.budget), "pod", r.name)
		}
	}
	r.debits = nil
}
