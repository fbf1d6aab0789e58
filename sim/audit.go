package sim

import (
	"fmt"
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/scheduling"
	"github.com/berthproject/berth/sim/store"
)

// Violation says what did not hold, and when.
type Violation struct {
	Invariant string
	At        time.Duration
	Detail    string
}

// Error words it.
func (v *Violation) Error() string {
	return fmt.Sprintf("%s does not hold at %v: %s", v.Invariant, v.At, v.Detail)
}

// Invariants are the names of what must hold, with what they say.
var Invariants = map[string]string{
	"NeverMoves":         "a pod that is bound stays on its node",
	"AskedOnce":          "no second node is asked for while the first may still be granted",
	"NodeCapacity":       "pods that we bound do not ask for more than their node has",
	"BudgetObeyed":       "no displacement that obeys a budget goes past it",
	"Booked":             "a pod displaced by who obeys has an entry in every budget that covers it",
	"DisplacedOnce":      "a pod is displaced once, says so, and has one event that is the record",
	"LowerVictims":       "a victim's priority is below its preemptor's",
	"NomineesRoom":       "a nominee's room is not given to a pod of lower priority",
	"NothingLost":        "a pending pod is in the queue or in an attempt",
	"NoSpin":             "the machine does not ask to be called again without end",
	"ViewEqualsStore":    "what the machine knows is what the store holds, once nothing is under way",
	"NobodyWaitsInVain":  "at rest no pod waits that would fit",
	"NobodyCouldPreempt": "at rest no pod waits that could preempt",
}

// audit checks them.
type audit struct {
	w         *World
	violation *Violation

	created       map[types.UID]time.Time
	labelsChanged map[types.UID]time.Time // when its labels last changed
	preemptors    map[string]bool
	activeBind    *request // whose Bind is being done

	openBinds map[string]map[*request]string // binds that may still be granted: pod UID to node
	nodes     map[string]*nodeUsage          // by node
	budgets   map[string]*budgetHistory      // by budget
	granted   int                            // displacements that budgets paid for
	records   recordAudit

	compared time.Time // when the view was last compared with the store
	revision uint64    // of the store then
	compiled map[types.UID]*model.Pod
}

// compareInterval is how long to leave between two comparisons of view and store.
const compareInterval = 5 * time.Second

func newAudit(w *World) *audit {
	return &audit{w: w, created: map[types.UID]time.Time{}, labelsChanged: map[types.UID]time.Time{}, preemptors: map[string]bool{}, openBinds: map[string]map[*request]string{},
		compiled: map[types.UID]*model.Pod{}, nodes: map[string]*nodeUsage{}, budgets: map[string]*budgetHistory{},
		records: recordAudit{map[types.UID]int{}, map[types.UID]bool{}, map[types.UID]string{}}}
}

// fail ends the run with the first violation.
func (a *audit) fail(invariant, detail string) {
	if a.violation == nil {
		a.violation = &Violation{Invariant: invariant, At: a.w.Elapsed(), Detail: detail}
		a.w.log("audit", "violation", "", a.violation.Error())
	}
}

// checkCommit checks a commit.
func (a *audit) checkCommit(c store.Change) {
	switch {
	case c.Kind == store.Pods && c.Old == nil:
		a.created[c.New.GetUID()], a.labelsChanged[c.New.GetUID()] = a.w.now, a.w.now
	case c.Kind == store.Pods && c.New == nil:
		delete(a.openBinds, string(c.Old.GetUID())) // what is gone gets nowhere
		a.forgiveIfNotObserved(c.Old.GetUID())
	case c.Kind == store.Pods:
		old, _ := c.Old.(*corev1.Pod)
		if p, ok := c.New.(*corev1.Pod); ok && old.Spec.NodeName != "" && p.Spec.NodeName != old.Spec.NodeName {
			a.fail("NeverMoves", fmt.Sprintf("pod %s was on %s and is on %q", keyOf(p), old.Spec.NodeName, p.Spec.NodeName))
		} else if ok && !maps.Equal(old.Labels, p.Labels) {
			a.labelsChanged[p.UID] = a.w.now
		}
	}
	if !a.w.o.Audit {
		return
	}
	a.checkNodeCapacity(c)
	a.updateBudgetHistory(c)
	a.countRecord(c)
}

// checkStep checks the machine after a step.
func (a *audit) checkStep(effects []scheduling.Effect) {
	if !a.w.o.Audit {
		return
	}
	a.checkNominatedPods(effects)
	a.checkPendingPods()
	if len(effects) == 0 && a.w.now.Sub(a.compared) > compareInterval && a.w.api.Revision() != a.revision && a.w.scheduler.isIdle() {
		a.compared, a.revision = a.w.now, a.w.api.Revision()
		a.compareWithStore(false)
	}
}

// bindSent records a Bind that is sent.
func (a *audit) bindSent(r *request, node string) {
	uid := r.pod.UID
	p := a.w.api.Pod(r.pod.Key())
	gone := p == nil || string(p.UID) != uid // nothing can be granted to it any longer
	for _, other := range a.openBinds[uid] {
		if _, there := a.w.api.Get(store.Nodes, other); other != node && there && !gone {
			a.fail("AskedOnce", fmt.Sprintf("pod %s is to go to %s while it may still get to %s", r.pod.Key(), node, other))
		}
	}
	if a.openBinds[uid] == nil {
		a.openBinds[uid] = map[*request]string{}
	}
	a.openBinds[uid][r] = node
}

// bindSettled records that a Bind was done, or never will be.
func (a *audit) bindSettled(r *request) {
	delete(a.openBinds[r.pod.UID], r)
	if len(a.openBinds[r.pod.UID]) == 0 {
		delete(a.openBinds, r.pod.UID)
	}
}
