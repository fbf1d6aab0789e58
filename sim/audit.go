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

// audit looks after them.
type audit struct {
	w      *World
	broken *Violation

	made       map[types.UID]time.Time
	labelled   map[types.UID]time.Time // when its labels last changed
	preemptors map[string]bool
	binder     *request // whose Bind is being done

	open    map[string]map[*request]string // binds that may still be granted: pod uid to node
	rooms   map[string]*room               // by node
	ledgers map[string]*ledger             // by budget
	granted int                            // displacements that budgets paid for
	records records

	compared time.Time // when the view was last compared with the store
	revision uint64    // of the store then
	compiled map[types.UID]*model.Pod
}

// comparing is how long to leave between two comparisons of view and store.
const comparing = 5 * time.Second

func newAudit(w *World) *audit {
	return &audit{w: w, made: map[types.UID]time.Time{}, labelled: map[types.UID]time.Time{}, preemptors: map[string]bool{}, open: map[string]map[*request]string{},
		compiled: map[types.UID]*model.Pod{}, rooms: map[string]*room{}, ledgers: map[string]*ledger{},
		records: records{map[types.UID]int{}, map[types.UID]bool{}, map[types.UID]string{}}}
}

// fail ends the run with the first violation.
func (a *audit) fail(invariant, detail string) {
	if a.broken == nil {
		a.broken = &Violation{Invariant: invariant, At: a.w.Elapsed(), Detail: detail}
		a.w.tell("audit", "violation", "", a.broken.Error())
	}
}

// committed looks at a commit.
func (a *audit) committed(c store.Change) {
	switch {
	case c.Kind == store.Pods && c.Old == nil:
		a.made[c.New.GetUID()], a.labelled[c.New.GetUID()] = a.w.now, a.w.now
	case c.Kind == store.Pods && c.New == nil:
		delete(a.open, string(c.Old.GetUID())) // what is gone gets nowhere
		a.gone(c.Old.GetUID())
	case c.Kind == store.Pods:
		old, _ := c.Old.(*corev1.Pod)
		if p, ok := c.New.(*corev1.Pod); ok && old.Spec.NodeName != "" && p.Spec.NodeName != old.Spec.NodeName {
			a.fail("NeverMoves", fmt.Sprintf("pod %s was on %s and is on %q", keyOf(p), old.Spec.NodeName, p.Spec.NodeName))
		} else if ok && !maps.Equal(old.Labels, p.Labels) {
			a.labelled[p.UID] = a.w.now
		}
	}
	if !a.w.o.Audit {
		return
	}
	a.settleRooms(c)
	a.settleLedgers(c)
	a.eventMade(c)
}

// stepped looks at the machine after a step.
func (a *audit) stepped(effects []scheduling.Effect) {
	if !a.w.o.Audit {
		return
	}
	a.nomineesRoom(effects)
	a.nothingLost()
	if len(effects) == 0 && a.w.now.Sub(a.compared) > comparing && a.w.api.Revision() != a.revision && a.w.scheduler.quiet() {
		a.compared, a.revision = a.w.now, a.w.api.Revision()
		a.viewEqualsStore(false)
	}
}

// asks takes note of a Bind that is sent.
func (a *audit) asks(r *request, node string) {
	uid := r.pod.UID
	p := a.w.api.Pod(r.pod.Key())
	gone := p == nil || string(p.UID) != uid // nothing can be granted to it any more
	for _, other := range a.open[uid] {
		if _, there := a.w.api.Get(store.Nodes, other); other != node && there && !gone {
			a.fail("AskedOnce", fmt.Sprintf("pod %s is to go to %s while it may still get to %s", r.pod.Key(), node, other))
		}
	}
	if a.open[uid] == nil {
		a.open[uid] = map[*request]string{}
	}
	a.open[uid][r] = node
}

// settled takes note that a Bind was done, or never will be.
func (a *audit) settled(r *request) {
	delete(a.open[r.pod.UID], r)
	if len(a.open[r.pod.UID]) == 0 {
		delete(a.open, r.pod.UID)
	}
}
