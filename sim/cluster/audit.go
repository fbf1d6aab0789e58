package cluster

import (
	"fmt"
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/scheduling"
	"github.com/berthproject/berth/sim"
	"github.com/berthproject/berth/sim/agent"
	"github.com/berthproject/berth/sim/budgets"
	"github.com/berthproject/berth/sim/displacement"
	"github.com/berthproject/berth/sim/scheduler"
	"github.com/berthproject/berth/sim/store"
)

// Invariants are the names and descriptions of the invariants.
var Invariants = map[string]string{
	"NeverMoves":               "a bound pod stays on its node",
	"BoundOnce":                "a pod is not bound to a second node while the first bind may still succeed",
	"NodeCapacity":             "the pods bound to a node do not exceed its allocatable resources",
	"BudgetRespected":          "no displacement that respects budgets exceeds one",
	"BudgetEntries":            "a pod displaced with respect to budgets has an entry in each of its budgets",
	"DisplacedOnce":            "a displaced pod has the condition, one record event, and is displaced once",
	"LowerVictims":             "a victim's priority is below its preemptor's",
	"NominatedCapacity":        "capacity of a nominated pod is not given to a pod of lower priority",
	"PendingTracked":           "a pending pod is queued or being scheduled",
	"NoBusyLoop":               "the scheduler does not loop without time passing",
	"StateEqualsStore":         "the scheduler's state equals the store when nothing is in flight",
	"NoPendingPodFits":         "when settled, no pending pod would fit",
	"NoPendingPodCouldPreempt": "when settled, no pending pod could preempt",
}

// audit checks the invariants.
type audit struct {
	w *Cluster

	labelsChanged map[types.UID]time.Time // last label change

	nodes   map[string]*nodeUsage     // by node
	budgets map[string]*budgetHistory // by budget
	records recordAudit

	compared time.Time // last comparison of the scheduler's state with the store
	revision uint64    // of the store at that time
	compiled map[types.UID]*model.Pod
}

// compareInterval is the minimum time between two comparisons with the store.
const compareInterval = 5 * time.Second

func newAudit(w *Cluster) *audit {
	return &audit{w: w, labelsChanged: map[types.UID]time.Time{},
		compiled: map[types.UID]*model.Pod{}, nodes: map[string]*nodeUsage{}, budgets: map[string]*budgetHistory{},
		records: recordAudit{map[types.UID]int{}, map[types.UID]bool{}, map[types.UID]string{}}}
}

// fail records the first violation, which ends the run.
func (a *audit) fail(invariant, detail string) { a.w.Fail(invariant, detail) }

// observe handles notices of actors.
func (a *audit) observe(notice any) {
	switch n := notice.(type) {
	case sim.WatchLost:
		if n.Actor == "records" && n.Kind == store.Pods {
			a.forgiveAfterLostWatch()
		}
	case budgets.Debited:
		a.checkDebit(n)
	case displacement.Displacing:
		a.checkDisplacement(n.Pod, n.Displacement)
	case agent.Evicted:
		if n.HasCondition && a.w.o.Audit {
			a.checkDisplacedOnce(n.Pod)
		}
	case scheduler.Stepped:
		a.checkStep(n.Effects)
	case scheduler.BindSent:
		a.checkBind(n)
	case scheduler.Preempting:
		a.checkPreemption(n)
	case sim.Killed:
		if n.Actor == "records" {
			a.forgiveDeletedPods()
		}
	}
}

// checkCommit checks the invariants of a commit.
func (a *audit) checkCommit(c store.Change) {
	switch {
	case c.Kind == store.Pods && c.Old == nil:
		a.labelsChanged[c.New.GetUID()] = a.w.Now()
	case c.Kind == store.Pods && c.New == nil:
		a.forgiveIfNotObserved(c.Old.GetUID())
	case c.Kind == store.Pods:
		old, _ := c.Old.(*corev1.Pod)
		if p, ok := c.New.(*corev1.Pod); ok && old.Spec.NodeName != "" && p.Spec.NodeName != old.Spec.NodeName {
			a.fail("NeverMoves", fmt.Sprintf("pod %s was on %s and is on %q", store.KeyOf(p), old.Spec.NodeName, p.Spec.NodeName))
		} else if ok && !maps.Equal(old.Labels, p.Labels) {
			a.labelsChanged[p.UID] = a.w.Now()
		}
	}
	if !a.w.o.Audit {
		return
	}
	a.checkNodeCapacity(c)
	a.updateBudgetHistory(c)
	a.countRecord(c)
}

// checkStep checks the invariants of a scheduler step.
func (a *audit) checkStep(effects []scheduling.Effect) {
	if !a.w.o.Audit {
		return
	}
	a.checkNominatedPods(effects)
	a.checkPendingPods()
	if len(effects) == 0 && a.w.Now().Sub(a.compared) > compareInterval && a.w.API().Revision() != a.revision && a.w.Scheduler.IsIdle() {
		a.compared, a.revision = a.w.Now(), a.w.API().Revision()
		a.compareWithStore(false)
	}
}

// checkBind checks that no other bind of the pod may still succeed.
func (a *audit) checkBind(n scheduler.BindSent) {
	p := a.w.API().Pod(n.Pod.Key())
	gone := p == nil || string(p.UID) != n.Pod.UID // no bind can succeed any longer
	for _, other := range a.w.Scheduler.OpenBinds(n.Pod.UID) {
		if _, there := a.w.API().Get(store.Nodes, other); other != n.Node && there && !gone {
			a.fail("BoundOnce", fmt.Sprintf("pod %s is being bound to %s while a bind to %s may still succeed", n.Pod.Key(), n.Node, other))
		}
	}
}
