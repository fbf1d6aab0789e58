package budget

import (
	"fmt"
	"slices"
	"time"

	"github.com/berthproject/berth/engine/model"
)

// Evictions are the rules of the eviction API. The zero value behaves as kube-apiserver, except
// that several budgets over one pod must all allow the eviction.
type Evictions struct {
	// RefuseMultiple refuses a pod that more than one budget covers, as kube-apiserver does.
	RefuseMultiple bool
	// Recount counts the healthy pods of each budget and uses the count where it is lower than the
	// status.
	Recount bool
	// ForbidImpossible forbids an eviction that a budget can never allow, instead of refusing it for
	// now.
	ForbidImpossible bool
	// OwnEntries names the budgets that an earlier attempt of the same request debited.
	OwnEntries []string
}

// maxUnconfirmed limits the entries of a budget that the disruption controller has not confirmed.
const maxUnconfirmed = 2000

// Result is the answer to an eviction request.
type Result uint8

// The results. Only Granted has an effect.
const (
	Granted         Result = iota
	Refused                // a retry may be granted
	Forbidden              // a retry cannot be granted before the budget changes
	MultipleBudgets        // several budgets cover the pod and RefuseMultiple is set
)

// Verdict is the full answer to an eviction request.
type Verdict struct {
	Result Result
	// Debits are the budgets to debit, sorted by name.
	Debits []*model.Budget
	// RequireUnchanged is set if the verdict is valid only while the pod does not change.
	RequireUnchanged bool

	// Budget and Reason name the obstacle. RetryAfter is the delay before a retry; 0 if unknown.
	Budget     *model.Budget
	Reason     string
	RetryAfter time.Duration
}

// conditionTimeout is how long the author of an entry may take to set the pod's DisruptionTarget
// condition. Until then the entry may be reverted, so other requests cannot rely on it.
const conditionTimeout = 30 * time.Second

// retryAfterUnobserved is the retry delay for a budget with an outdated status.
const retryAfterUnobserved = 10 * time.Second

// Check answers a request to evict a pod. budgets are those of the pod's namespace, or at least
// those that cover it. pods are all pods of the namespace; only Recount reads them.
func (e Evictions) Check(p *model.Pod, budgets []*model.Budget, pods []*model.Pod, now time.Time) Verdict {
	if p.Deleting || p.Finished() {
		return Verdict{}
	}
	if p.Phase == model.Pending {
		return Verdict{RequireUnchanged: true} // it may start running
	}
	var covering []*model.Budget
	for _, b := range budgets {
		if Ledger.Covers(b, p) {
			covering = append(covering, b)
		}
	}
	slices.SortFunc(covering, compareName)
	if len(covering) > 1 && e.RefuseMultiple {
		return Verdict{Result: MultipleBudgets, Budget: covering[0], Reason: "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."}
	}
	var v Verdict
	for _, b := range covering {
		healthy := int32(-1)
		if e.Recount {
			healthy = Recount(b, pods, now)
		}
		verdict := e.checkBudget(b, p, healthy, now)
		if verdict.Result != Granted {
			return verdict
		}
		v.RequireUnchanged = v.RequireUnchanged || verdict.RequireUnchanged
		v.Debits = append(v.Debits, verdict.Debits...)
	}
	return v
}

// checkBudget returns the answer of one budget. healthy is the recount, or -1.
func (e Evictions) checkBudget(b *model.Budget, p *model.Pod, healthy int32, now time.Time) Verdict {
	current, allowed := b.CurrentHealthy, b.DisruptionsAllowed
	if healthy >= 0 {
		current = min(current, healthy)
		allowed = min(allowed, max(healthy-b.DesiredHealthy, 0))
	}
	// Unhealthy pods are not debited.
	if !p.Ready && (b.AlwaysAllowUnhealthy || current >= b.DesiredHealthy && b.DesiredHealthy > 0) {
		return Verdict{RequireUnchanged: true}
	}
	v := Verdict{Result: Refused, Budget: b}
	switch {
	case b.ObservedGeneration < b.Generation:
		v.Reason, v.RetryAfter = fmt.Sprintf("The disruption budget %s is still being processed by the server.", b.Name), retryAfterUnobserved
	case b.DisruptionsAllowed < 0:
		v.Result, v.Reason = Forbidden, "pdb disruptions allowed is negative"
	case HasRecentEntry(b, p, now) && (p.DisruptionReason != "" || slices.Contains(e.OwnEntries, b.Name) || !HasRecentEntry(b, p, now.Add(EntryAge-conditionTimeout))):
		return Verdict{}
	case HasRecentEntry(b, p, now):
		v.Reason, v.RetryAfter = fmt.Sprintf("Another eviction of the pod is in progress; the disruption budget %s has an entry for it", b.Name), time.Second
	case len(b.Disrupted) > maxUnconfirmed:
		v.Result, v.Reason = Forbidden, "DisruptedPods map too big - too many evictions not confirmed by PDB controller"
	case allowed > 0:
		return Verdict{Debits: []*model.Budget{b}}
	case e.ForbidImpossible && impossibleReason(b, p) != "":
		v.Result, v.Reason = Forbidden, fmt.Sprintf("The disruption budget %s can never allow it: %s", b.Name, impossibleReason(b, p))
	case b.SyncError != "":
		v.Reason = fmt.Sprintf("The disruption budget %s does not allow evicting pods currently because it failed sync: %v", b.Name, b.SyncError)
	case current <= b.DesiredHealthy:
		v.Reason = fmt.Sprintf("The disruption budget %s needs %d healthy pods and has %d currently", b.Name, b.DesiredHealthy, current)
	default:
		v.Reason = fmt.Sprintf("The disruption budget %s does not allow evicting pods currently", b.Name)
	}
	return v
}

// impossibleReason returns why a budget that allows no disruption now will not allow one until it is
// changed, and which field to change, or "". A budget with an owner may be changed by its controller.
func impossibleReason(b *model.Budget, p *model.Pod) string {
	switch {
	case b.Owned || b.SyncError != "":
		return ""
	case b.MaxUnavailable.Set && b.MaxUnavailable.Value <= 0:
		return "spec.maxUnavailable is 0: raise it, or delete the budget"
	case b.MinAvailable.Percent && b.MinAvailable.Value >= 100:
		return "spec.minAvailable is 100%: lower it, or delete the budget"
	case b.ExpectedPods == 0 && p.Owner == (model.Owner{}) && (b.MaxUnavailable.Set || b.MinAvailable.Percent):
		return "its pods have no controller with a replica count: set spec.minAvailable to a number instead"
	}
	return ""
}

// HasRecentEntry reports whether the budget recently granted the disruption of this pod. An
// entry older than the pod belongs to a predecessor of the same name.
func HasRecentEntry(b *model.Budget, p *model.Pod, now time.Time) bool {
	i, ok := slices.BinarySearch(b.Disrupted, p.Name)
	return ok && i < len(b.DisruptedAt) && !b.DisruptedAt[i].Before(p.Created) && b.DisruptedAt[i].Add(EntryAge).After(now)
}

// Recount returns the number of healthy pods of a budget: Ready, not terminating, and without a recent entry.
func Recount(b *model.Budget, pods []*model.Pod, now time.Time) (n int32) {
	for _, p := range pods {
		if p.Ready && !p.Deleting && !p.Finished() && Ledger.Covers(b, p) && !HasRecentEntry(b, p, now) {
			n++
		}
	}
	return n
}
