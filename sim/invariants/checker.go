package invariants

import (
	"fmt"
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/placement/framework"
	"github.com/berthproject/berth/engine/preemption"
	"github.com/berthproject/berth/engine/scheduling"
	"github.com/berthproject/berth/sim"
	"github.com/berthproject/berth/sim/agent"
	"github.com/berthproject/berth/sim/budgets"
	"github.com/berthproject/berth/sim/kubeclient"
	"github.com/berthproject/berth/sim/scheduler"
	"github.com/berthproject/berth/sim/store"
)

// Options configures a Checker.
type Options struct {
	// All enables all checks. Without it the Checker checks only NeverMoves and BoundOnce during the run.
	All bool
	// Scheduler, Ledger and Recorder have the state that the invariants refer to. Recorder is the client of the controller of
	// displacement records.
	Scheduler *scheduler.Scheduler
	Ledger    *budgets.Ledger
	Recorder  *sim.Client
	// Profiles, TieBreakSeed and Preemption are those of the scheduler.
	Profiles     []*framework.Profile
	TieBreakSeed uint64
	Preemption   preemption.Options
	// KeepDebits means that the eviction API does not refund the debits of failed evictions.
	KeepDebits bool
}

// Checker checks the invariants of a world. Create it with New.
type Checker struct {
	BudgetDebits int // number of checked debits
	Unrecorded   int // displacements whose record was lost because no actor observed them

	w *sim.World
	o Options

	labelsChanged map[types.UID]time.Time // creation or last label change

	nodes   map[string]*nodeUsage     // by node
	budgets map[string]*budgetHistory // by budget
	records map[types.UID]*podRecord  // by pod
	binds   openBinds
	refunds refundAudit

	evicting []sim.Evicting
	tasks    []sim.Task

	comparedAt time.Time // last comparison of the scheduler's state with the store
	revision   uint64    // revision of the store at that time
	compiled   map[types.UID]*model.Pod
}

// compareInterval is the minimum time between two comparisons with the store.
const compareInterval = 5 * time.Second

// New returns a Checker that observes the world from now on.
func New(w *sim.World, o Options) *Checker {
	a := &Checker{w: w, o: o, labelsChanged: map[types.UID]time.Time{}, nodes: map[string]*nodeUsage{}, budgets: map[string]*budgetHistory{},
		records: map[types.UID]*podRecord{}, binds: openBinds{}, refunds: refundAudit{faults: map[string]time.Time{}}, compiled: map[types.UID]*model.Pod{}}
	a.o.Recorder.OnDelivered = a.observeDelivered
	w.OnCommit(a.checkCommit)
	w.OnNotice(a.observe)
	return a
}

// failf records a violation of an invariant.
func (a *Checker) failf(invariant, format string, values ...any) {
	a.w.Fail(invariant, fmt.Sprintf(format, values...))
}

// since returns the time since t.
func (a *Checker) since(t time.Time) time.Duration { return a.w.Now().Sub(t) }

// observe handles notices of actors.
func (a *Checker) observe(notice any) {
	switch n := notice.(type) {
	case sim.WatchLost:
		if n.Actor == a.o.Recorder.Name() && n.Kind == store.Pods {
			a.acceptMissingRecords(true)
		}
	case sim.Evicting:
		a.evicting = append(a.evicting, n)
	case sim.Task:
		a.tasks = append(a.tasks, n)
	case kubeclient.DeletingPod:
		a.checkDeletion(n)
	case agent.Evicted:
		if n.HasCondition && a.o.All {
			a.checkDisplacedOnce(n.Pod)
		}
	case scheduler.Stepped:
		a.checkStep(n.Effects)
	case kubeclient.Binding:
		a.binds.noteSent(n)
	case sim.Requested:
		a.refunds.noteFault(n, a.w.Now())
	case sim.Killed:
		a.refunds.killed = a.w.Now()
		switch n.Actor {
		case a.o.Recorder.Name():
			a.acceptMissingRecords(false)
		case "scheduler":
			clear(a.binds)
		}
	}
}

// checkCommit checks the invariants of a commit.
func (a *Checker) checkCommit(c store.Change) {
	switch {
	case c.Kind == store.Pods && c.Old == nil:
		a.labelsChanged[c.New.GetUID()] = a.w.Now()
	case c.Kind == store.Pods && c.New == nil:
		delete(a.binds, string(c.Old.GetUID()))
		a.acceptIfNotObserved(c.Old.GetUID())
	case c.Kind == store.Pods:
		old, _ := c.Old.(*corev1.Pod)
		if p, ok := c.New.(*corev1.Pod); ok && old.Spec.NodeName != "" && p.Spec.NodeName != old.Spec.NodeName {
			a.failf("NeverMoves", "pod %s was on %s and is on %q", store.KeyOf(p), old.Spec.NodeName, p.Spec.NodeName)
		} else if ok && !maps.Equal(old.Labels, p.Labels) {
			a.labelsChanged[p.UID] = a.w.Now()
		}
	}
	if !a.o.All {
		return
	}
	a.checkNodeCapacity(c)
	a.updateBudgetHistory(c)
	a.watchDebits(c)
	a.countRecord(c)
}

// checkStep checks the invariants of a scheduler step.
func (a *Checker) checkStep(effects []scheduling.Effect) {
	for _, e := range effects {
		if b, ok := e.(scheduling.Bind); ok {
			a.checkBind(b)
		}
	}
	if !a.o.All {
		return
	}
	a.checkNominatedPods(effects)
	a.checkPendingPods()
	if len(effects) == 0 && a.since(a.comparedAt) > compareInterval && a.w.API().Revision() != a.revision && a.o.Scheduler.IsIdle() {
		a.comparedAt, a.revision = a.w.Now(), a.w.API().Revision()
		a.compareWithStore(false)
	}
}
