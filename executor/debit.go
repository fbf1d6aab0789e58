package executor

import (
	"context"
	"fmt"
	"slices"

	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/displacement"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/internal/budgetstatus"
	"github.com/berthproject/berth/internal/conversion"
)

// maxDebitAttempts bounds the retries of a budget update that conflicts with other writers.
const maxDebitAttempts = 10

// RefusedError reports that a budget does not allow a displacement. Nothing was done.
type RefusedError struct {
	Budget    *policyv1.PodDisruptionBudget // as it was read
	Allowed   int32
	Requested int
	// Refunded are the other budgets whose earlier debits were refunded, in their present state.
	Refunded []*policyv1.PodDisruptionBudget
}

func (e *RefusedError) Error() string {
	return fmt.Sprintf("disruption budget %s/%s allows %d disruptions, %d requested", e.Budget.Namespace, e.Budget.Name, e.Allowed, e.Requested)
}

// appliedDebit is a debit that was written.
type appliedDebit struct {
	budgetstatus.Debit
	namespace, budget string
	entries           map[string]displacement.Entry // by pod
}

// Debit debits victims in their disruption budgets, with one update per budget and in the order of the budget names.
// If a budget does not allow a debit and overrule is false, Debit refunds the earlier debits and returns a
// *RefusedError. The returned entries go into the displacement records; the key is "namespace/name" of the victim.
//
// If the API server forbids the update, as it does for kube-scheduler's role, Debit skips the budget and the
// displacement continues, as in kube-scheduler.
func (d *Displacer) Debit(ctx context.Context, debits []decision.Debit, victims []*model.Pod, overrule bool) (map[string][]displacement.Entry, error) {
	entries := map[string][]displacement.Entry{}
	var applied []appliedDebit
	for _, debit := range debits {
		result, refusal, err := d.debitOne(ctx, debit, victims, overrule)
		switch {
		case err != nil && isDefiniteRejection(err) && !apierrors.IsTooManyRequests(err):
			if d.OnDebitForbidden != nil {
				d.OnDebitForbidden(debit.Budget, err)
			}
			continue
		case err != nil:
			return nil, err
		case refusal != nil:
			refused := &RefusedError{Budget: refusal, Allowed: budgetstatus.Allowed(refusal), Requested: len(debit.Granted)}
			for _, g := range applied {
				if b := d.refund(ctx, g); b != nil {
					refused.Refunded = append(refused.Refunded, b)
				}
			}
			return nil, refused
		}
		applied = append(applied, result)
		for name, entry := range result.entries {
			key := result.namespace + "/" + name
			entries[key] = append(entries[key], entry)
		}
	}
	return entries, nil
}

// debitOne debits victims in one budget. refusal is the budget that does not allow the debit.
// A deleted budget protects no pod.
func (d *Displacer) debitOne(ctx context.Context, debit decision.Debit, victims []*model.Pod, overrule bool) (applied appliedDebit, refusal *policyv1.PodDisruptionBudget, err error) {
	client := d.Client.PolicyV1().PodDisruptionBudgets(debit.Budget.Namespace)
	for range maxDebitAttempts {
		b, err := client.Get(ctx, debit.Budget.Name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return appliedDebit{}, nil, nil
		}
		if err != nil {
			return appliedDebit{}, nil, err
		}
		planned, required := budgetstatus.Plan(b, debit, victims)
		if int(budgetstatus.Allowed(b)) < required && !overrule {
			return appliedDebit{}, b, nil
		}
		if planned.IsEmpty() {
			return appliedDebit{}, nil, nil // every victim was debited earlier
		}
		applied = appliedDebit{Debit: planned, namespace: b.Namespace, budget: b.Name, entries: planned.Apply(b, d.Now())}
		if _, err = client.UpdateStatus(ctx, b, metav1.UpdateOptions{}); err == nil || !apierrors.IsConflict(err) {
			return applied, nil, err
		}
	}
	return appliedDebit{}, nil, fmt.Errorf("updating disruption budget %s/%s: %d consecutive conflicts", debit.Budget.Namespace, debit.Budget.Name, maxDebitAttempts)
}

// refund removes the entries of a debit, except those of pods that another actor displaces: that actor relies on the
// entry, and another displacement would use the refund. Entries that cannot be removed expire. refund returns the
// updated budget, or nil if it removed no entry.
func (d *Displacer) refund(ctx context.Context, applied appliedDebit) *policyv1.PodDisruptionBudget {
	client := d.Client.PolicyV1().PodDisruptionBudgets(applied.namespace)
	displaced := func(name string) bool { return d.beingDisplaced(ctx, applied.namespace, name) }
	applied.Granted, applied.Overruled = slices.DeleteFunc(applied.Granted, displaced), slices.DeleteFunc(applied.Overruled, displaced)
	if applied.IsEmpty() {
		return nil
	}
	for range maxDebitAttempts {
		b, err := client.Get(ctx, applied.budget, metav1.GetOptions{})
		if err != nil {
			return nil
		}
		if !applied.Refund(b, d.Now()) {
			return nil
		}
		updated, err := client.UpdateStatus(ctx, b, metav1.UpdateOptions{})
		switch {
		case err == nil:
			return updated
		case !apierrors.IsConflict(err):
			return nil
		}
	}
	return nil
}

// beingDisplaced reports whether a pod is being displaced, or may be because its state cannot be read.
func (d *Displacer) beingDisplaced(ctx context.Context, namespace, name string) bool {
	p, err := d.Client.CoreV1().Pods(namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return !apierrors.IsNotFound(err)
	}
	return p.DeletionTimestamp != nil || conversion.ActiveDisruptionTarget(p) != nil
}
