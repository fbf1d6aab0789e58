package eviction

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
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
func (e *eviction) checkBudgets(ctx context.Context, pod *corev1.Pod) (budget.Verdict, map[string]*policyv1.PodDisruptionBudget, error) {
	stored, err := e.store.Budgets(ctx, pod)
	if err != nil {
		return budget.Verdict{}, nil, err
	}
	p := conversion.BudgetPod(pod)
	var budgets []*model.Budget
	var covering []*policyv1.PodDisruptionBudget
	byName := map[string]*policyv1.PodDisruptionBudget{}
	for _, s := range stored {
		b := e.converter.Budget(s)
		if budget.Ledger.Covers(b, p) {
			budgets = append(budgets, b)
			covering = append(covering, s)
			byName[b.Name] = s
		}
	}
	now := e.store.Now()
	rules := e.options.Rules
	for _, d := range e.debits {
		rules.OwnEntries = append(rules.OwnEntries, d.budget.Name)
	}
	recount := rules.Recount
	rules.Recount = false
	v := rules.Check(p, budgets, nil, now)
	if !recount || v.Result != budget.Granted || len(budgets) == 0 || p.Phase == model.Pending || p.Deleting || p.Finished() {
		return v, byName, nil
	}
	pods, err := e.store.PodsOf(ctx, covering)
	if err != nil {
		return budget.Verdict{}, nil, err
	}
	rules.Recount = true
	return rules.Check(p, budgets, pods, now), byName, nil
}

// debit records the pod in each budget of the verdict, if the budget has not changed since it was
// read. Otherwise it refunds the debits made so far.
func (e *eviction) debit(ctx context.Context, pod *corev1.Pod, v budget.Verdict, budgets map[string]*policyv1.PodDisruptionBudget) error {
	n := len(e.debits)
	for _, m := range v.Debits {
		b := budgets[m.Name]
		debit := budgetstatus.Debit{Granted: []string{pod.Name}}
		var entry displacement.Entry
		err := e.store.UpdateBudgetStatus(ctx, b, true, func(b *policyv1.PodDisruptionBudget) bool {
			entry = debit.Apply(b, e.store.Now())[pod.Name]
			return true
		})
		if err == nil {
			e.debitedPod = pod.UID
			e.debits = append(e.debits, budgetDebit{budget: b, entry: entry})
			continue
		}
		e.refund(ctx, n)
		if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
			return errChanged
		}
		return fmt.Errorf("debiting disruption budget %s for pod %s/%s: %w", b.Name, pod.Namespace, pod.Name, err)
	}
	return nil
}

// refundFailed refunds the debits of a failed request, unless the pod is being deleted or another
// request is evicting it and relies on the debit. It clears the condition first: a request that
// relies on the debit then reads a changed pod and retries.
func (e *eviction) refundFailed(ctx context.Context) {
	if !e.options.Refund || len(e.debits) == 0 {
		return
	}
	// After an error the entry expires, or the next recount removes it.
	if e.clearDisruptionTarget(ctx) == nil {
		e.refund(ctx, 0)
	}
}

// clearDisruptionTarget reverts the DisruptionTarget condition of this request. It returns an error
// if the pod is being deleted or another request has set the condition.
func (e *eviction) clearDisruptionTarget(ctx context.Context) error {
	_, err := e.store.UpdatePod(ctx, e.Name, e.debitedPod, func(pod *corev1.Pod) error {
		c := conversion.ActiveDisruptionTarget(pod)
		switch {
		case pod.DeletionTimestamp != nil:
			return errors.New("the pod is being deleted")
		case c == nil:
		case e.condition == nil || !equality.Semantic.DeepEqual(e.condition, c):
			return errors.New("another request is evicting the pod")
		case e.previousCondition == nil:
			conversion.RemoveDisruptionTarget(pod)
		default:
			*c = *e.previousCondition
		}
		return nil
	})
	return err
}

// refund refunds all debits except the first n. Debits that cannot be refunded expire. Until then,
// they may prevent other evictions.
func (e *eviction) refund(ctx context.Context, n int) {
	for _, d := range e.debits[n:] {
		err := e.store.UpdateBudgetStatus(ctx, d.budget, false, func(b *policyv1.PodDisruptionBudget) bool {
			return budgetstatus.Debit{Granted: []string{e.Name}}.Refund(b, e.store.Now())
		})
		if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
			klog.ErrorS(err, "Failed to refund a disruption budget after a failed eviction; the entry expires after two minutes", "budget", klog.KObj(d.budget), "pod", klog.KRef(e.Namespace, e.Name))
		}
	}
	e.debits = e.debits[:n]
}
