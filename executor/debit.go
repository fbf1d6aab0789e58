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

// appliedDebit is what was debited from one budget.
type appliedDebit struct {
	namespace, name string
	debited         []string // pods that reduced disruptionsAllowed by one
	overruled       []string
	before, after   int32
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
			refused := &RefusedError{Budget: refusal, Allowed: disruptionsAllowed(refusal), Requested: len(debit.Granted)}
			for _, g := range applied {
				if b := d.refund(ctx, g); b != nil {
					refused.Refunded = append(refused.Refunded, b)
				}
			}
			return nil, refused
		}
		applied = append(applied, result)
		for _, name := range result.debited {
			key := result.namespace + "/" + name
			entries[key] = append(entries[key], displacement.Entry{Budget: result.name, Before: result.before, After: result.after})
		}
		for _, name := range result.overruled {
			key := result.namespace + "/" + name
			entries[key] = append(entries[key], displacement.Entry{Budget: result.name, Before: result.before, After: result.after, Overruled: true})
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
			return applied, nil, nil
		}
		if err != nil {
			return applied, nil, err
		}
		applied = appliedDebit{namespace: b.Namespace, name: b.Name, before: b.Status.DisruptionsAllowed}
		divideVictims(b, debit, victims, &applied, disruptionsAllowed(b))
		if int(disruptionsAllowed(b)) < len(withoutEntry(b, debit.Granted, victims)) && !overrule {
			return applied, b, nil
		}
		if len(applied.debited)+len(applied.overruled) == 0 {
			return applied, nil, nil // every victim was debited earlier
		}
		now := metav1.NewTime(d.Now())
		if b.Status.DisruptedPods == nil {
			b.Status.DisruptedPods = map[string]metav1.Time{}
		}
		for _, names := range [][]string{applied.debited, applied.overruled} {
			for _, name := range names {
				b.Status.DisruptedPods[name] = now
			}
		}
		b.Status.DisruptionsAllowed -= int32(len(applied.debited))
		applied.after = b.Status.DisruptionsAllowed
		if _, err = client.UpdateStatus(ctx, b, metav1.UpdateOptions{}); err == nil || !apierrors.IsConflict(err) {
			return applied, nil, err
		}
	}
	return applied, nil, fmt.Errorf("updating disruption budget %s/%s: %d consecutive conflicts", debit.Budget.Namespace, debit.Budget.Name, maxDebitAttempts)
}

// divideVictims divides the victims without an entry into those that the budget allows and the rest. A debit that was
// planned to overrule the budget first uses what the budget still allows. The budget then refuses other actors.
func divideVictims(b *policyv1.PodDisruptionBudget, d decision.Debit, victims []*model.Pod, applied *appliedDebit, allowed int32) {
	for _, name := range append(withoutEntry(b, d.Granted, victims), withoutEntry(b, d.Overruled, victims)...) {
		if allowed > 0 {
			allowed--
			applied.debited = append(applied.debited, name)
		} else {
			applied.overruled = append(applied.overruled, name)
		}
	}
}

// withoutEntry returns the names without an entry in disruptedPods. An entry older than the pod belongs to an
// earlier pod of the same name.
func withoutEntry(b *policyv1.PodDisruptionBudget, names []string, victims []*model.Pod) []string {
	var out []string
	for _, name := range names {
		recordedAt, exists := b.Status.DisruptedPods[name]
		for _, v := range victims {
			if v.Name == name && v.Namespace == b.Namespace && recordedAt.Time.Before(v.Created) {
				exists = false
			}
		}
		if !exists {
			out = append(out, name)
		}
	}
	return out
}

// disruptionsAllowed returns how many pods a budget allows to disrupt. It returns 0 while the status is of an
// older generation, as the eviction API does.
func disruptionsAllowed(b *policyv1.PodDisruptionBudget) int32 {
	if b.Status.ObservedGeneration < b.Generation {
		return 0
	}
	return max(0, b.Status.DisruptionsAllowed)
}

// refund removes the entries of a debit, except those of pods that another actor displaces: that actor relies on the
// entry, and another displacement would use the refund. Entries that cannot be removed expire. refund returns the
// updated budget, or nil if it removed no entry.
func (d *Displacer) refund(ctx context.Context, applied appliedDebit) *policyv1.PodDisruptionBudget {
	client := d.Client.PolicyV1().PodDisruptionBudgets(applied.namespace)
	displaced := func(name string) bool { return d.beingDisplaced(ctx, applied.namespace, name) }
	applied.debited, applied.overruled = slices.DeleteFunc(applied.debited, displaced), slices.DeleteFunc(applied.overruled, displaced)
	if len(applied.debited)+len(applied.overruled) == 0 {
		return nil
	}
	for range maxDebitAttempts {
		b, err := client.Get(ctx, applied.name, metav1.GetOptions{})
		if err != nil {
			return nil
		}
		for _, name := range applied.overruled {
			delete(b.Status.DisruptedPods, name)
		}
		for _, name := range applied.debited {
			if _, exists := b.Status.DisruptedPods[name]; exists {
				delete(b.Status.DisruptedPods, name)
				b.Status.DisruptionsAllowed++
			}
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
