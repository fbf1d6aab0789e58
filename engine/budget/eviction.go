package budget

import (
	"fmt"
	"slices"
	"time"

	"github.com/berthproject/berth/engine/model"
)

// Evictions are the rules of evictions by request. The zero value answers as
// kube-apiserver does, but for several budgets over one pod, which must all agree.
type Evictions struct {
	// RefuseMultiple refuses a pod that more than one budget covers.
	RefuseMultiple bool
	// Recount allows no more than a count of the pods that are there now does.
	Recount bool
	// ForbidImpossible forbids what a budget can never allow, instead of refusing it for now.
	ForbidImpossible bool
	// OwnEntries are the budgets, by name, in which this very request has booked the pod before, in an earlier try.
	OwnEntries []string
}

// maxUnconfirmed is how many entries a budget may have that the disruption loop has not confirmed.
const maxUnconfirmed = 2000

// Result is what becomes of a request to evict a pod.
type Result uint8

// The results. All but Granted leave everything as it is.
const (
	Granted         Result = iota
	Refused                // not now
	Forbidden              // not before somebody changes the budget
	MultipleBudgets        // more than one budget, which RefuseSeveral does not serve
)

// Verdict is the answer to one request.
type Verdict struct {
	Result Result
	// Debits are the budgets to be debited, in the order of their names.
	Debits []*model.Budget
	// RequireUnchanged: it holds only if the pod is as it was when it was judged.
	RequireUnchanged bool

	// Budget and Why say what stands in the way; Retry is when to ask again, 0 if nobody knows.
	Budget     *model.Budget
	Reason     string
	RetryAfter time.Duration
}

// markTimeout is how long somebody who has booked a pod may take to mark it. Until then he may fail and
// take the entry back, so that nobody else may count on it; later he is taken to have died, and the entry is as good as any.
const markTimeout = 30 * time.Second

// retryAfterUnobserved is how long a budget without a present status is given.
const retryAfterUnobserved = 10 * time.Second

// Check answers a request to evict a pod. Budgets are those of its namespace, or at
// least the ones that cover it; pods are all of its namespace, and read for Recount alone.
func (e Evictions) Check(p *model.Pod, budgets []*model.Budget, pods []*model.Pod, now time.Time) Verdict {
	if p.Deleting || p.Finished() {
		return Verdict{}
	}
	if p.Phase == model.Pending {
		return Verdict{RequireUnchanged: true} // it might start running meanwhile
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
			healthy = countHealthy(b, pods, now)
		}
		one := e.checkBudget(b, p, healthy, now)
		if one.Result != Granted {
			return one
		}
		v.RequireUnchanged = v.RequireUnchanged || one.RequireUnchanged
		v.Debits = append(v.Debits, one.Debits...)
	}
	return v
}

// checkBudget is the answer of one budget. Healthy is our own count, or -1.
func (e Evictions) checkBudget(b *model.Budget, p *model.Pod, healthy int32, now time.Time) Verdict {
	current, allowed := b.CurrentHealthy, b.DisruptionsAllowed
	if healthy >= 0 {
		current = min(current, healthy)
		allowed = min(allowed, max(healthy-b.DesiredHealthy, 0))
	}
	// What does not run is not lost: unhealthy pods take nothing.
	if !p.Ready && (b.AlwaysAllowUnhealthy || current >= b.DesiredHealthy && b.DesiredHealthy > 0) {
		return Verdict{RequireUnchanged: true}
	}
	v := Verdict{Result: Refused, Budget: b}
	switch {
	case b.ObservedGeneration < b.Generation:
		v.Reason, v.RetryAfter = fmt.Sprintf("The disruption budget %s is still being processed by the server.", b.Name), retryAfterUnobserved
	case b.DisruptionsAllowed < 0:
		v.Result, v.Reason = Forbidden, "pdb disruptions allowed is negative"
	case HasRecentEntry(b, p, now) && (p.DisruptionReason != "" || slices.Contains(e.OwnEntries, b.Name) || !HasRecentEntry(b, p, now.Add(EntryAge-markTimeout))):
		return Verdict{}
	case HasRecentEntry(b, p, now):
		v.Reason, v.RetryAfter = fmt.Sprintf("The pod is about to be evicted by somebody else, for whom the disruption budget %s has booked it", b.Name), time.Second
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

// impossibleReason says why a budget that allows nothing now never will, as long as nobody changes it,
// and which field to change; empty where it might. A budget with an owner belongs to a
// program, which may change it.
func impossibleReason(b *model.Budget, p *model.Pod) string {
	switch {
	case b.Owned || b.SyncError != "":
		return ""
	case b.MaxUnavailable.Set && b.MaxUnavailable.Value <= 0:
		return "spec.maxUnavailable is 0: raise it, or delete the budget meanwhile"
	case b.MinAvailable.Percent && b.MinAvailable.Value >= 100:
		return "spec.minAvailable is 100%: lower it, or delete the budget meanwhile"
	case b.ExpectedPods == 0 && p.Owner == (model.Owner{}) && (b.MaxUnavailable.Set || b.MinAvailable.Percent):
		return "its pods have no controller that says how many there should be: set spec.minAvailable to a number instead"
	}
	return ""
}

// HasRecentEntry says whether the budget has granted not long ago that this very pod goes.
// An entry older than the pod is a namesake's.
func HasRecentEntry(b *model.Budget, p *model.Pod, now time.Time) bool {
	i, ok := slices.BinarySearch(b.Disrupted, p.Name)
	return ok && i < len(b.DisruptedAt) && !b.DisruptedAt[i].Before(p.Created) && b.DisruptedAt[i].Add(EntryAge).After(now)
}

// countHealthy is how many healthy pods a budget has, by our own count.
func countHealthy(b *model.Budget, pods []*model.Pod, now time.Time) (n int32) {
	for _, p := range pods {
		if p.Ready && !p.Deleting && !p.Finished() && Ledger.Covers(b, p) && !HasRecentEntry(b, p, now) {
			n++
		}
	}
	return n
}
