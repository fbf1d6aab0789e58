package invariants

import (
	"fmt"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/berthproject/berth/engine/budget"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/internal/conversion"
	"github.com/berthproject/berth/internal/journal"
	"github.com/berthproject/berth/sim/fakeowners"
	"github.com/berthproject/berth/sim/store"
)

// livenessTimeout is how long work may remain unfinished after all faults have ended. It exceeds the longest backoff of
// a controller, 10 minutes. livenessInterval is the interval between two checks.
const (
	livenessTimeout  = 15 * time.Minute
	livenessInterval = 9700 * time.Millisecond // not in step with the periods of controllers
)

// recordCompletion is the age up to which the controller of displacement records completes a record.
const recordCompletion = 30 * time.Minute

// checkLiveness checks that the controllers finish all work. New work may begin at any time, for example because
// containers restart, so each piece of work must be finished at one of the checks.
func (a *Checker) checkLiveness() {
	open := a.unfinishedWork()
	for end := a.w.Now().Add(livenessTimeout); len(open) > 0 && a.w.Now().Before(end); {
		if a.w.Run(a.w.Elapsed()+livenessInterval) != nil || a.w.Stopped() {
			return
		}
		current := a.unfinishedWork()
		open = slices.DeleteFunc(open, func(work string) bool { return !slices.Contains(current, work) })
	}
	if len(open) > 0 {
		a.failf("Liveness", "unfinished for %v: %s", livenessTimeout, strings.Join(open, "; "))
	}
}

// workList describes pieces of work. The description of a piece of work does not change.
type workList []string

func (l *workList) addf(format string, values ...any) {
	*l = append(*l, fmt.Sprintf(format, values...))
}

// unfinishedWork describes the work that controllers, evictions and tasks have to do.
func (a *Checker) unfinishedWork() (out workList) {
	pods, replicas := map[string]*corev1.Pod{}, map[types.UID]int32{} // by UID, and by owner
	for p := range store.All[*corev1.Pod](a.w.API()) {
		pods[string(p.UID)] = p
		if c := metav1.GetControllerOfNoCopy(p); c != nil && p.DeletionTimestamp == nil && !store.Finished(p) {
			replicas[c.UID]++
		}
		a.addDisplacements(&out, p)
	}
	for rs := range store.All[*appsv1.ReplicaSet](a.w.API()) {
		if rs.DeletionTimestamp == nil && rs.Spec.Replicas != nil && replicas[rs.UID] != *rs.Spec.Replicas {
			out.addf("replicaset %s does not have %d pods", store.KeyOf(rs), *rs.Spec.Replicas)
		}
	}
	for b := range store.All[*policyv1.PodDisruptionBudget](a.w.API()) {
		if a.isOutdated(b) {
			out.addf("budget %s has an outdated status", store.KeyOf(b))
		}
	}
	for e := range store.All[*eventsv1.Event](a.w.API()) {
		a.addRecord(&out, e, pods)
	}
	for _, e := range a.evicting {
		if p := pods[e.UID]; p != nil && !e.Ended() && p.DeletionTimestamp == nil && !slices.ContainsFunc(a.o.Ledger.BudgetsOf(p), a.refusesDisruption) {
			out.addf("pod %s is not evicted, although no budget refuses it", e.Pod)
		}
	}
	for _, t := range a.tasks {
		if !t.Ended() {
			out.addf("%s has not ended", t.Name)
		}
	}
	return out
}

// addDisplacements adds that a pod must be displaced because of a NoExecute taint, or that its condition DisruptionTarget
// must be reset because it is not displaced after all.
func (a *Checker) addDisplacements(out *workList, p *corev1.Pod) {
	if c := conversion.ActiveDisruptionTarget(p); c != nil {
		if remaining, ends := budget.StaleConditionAfter(a.w.BudgetPod(p), c.LastTransitionTime.Time, a.w.Now()); ends && remaining == 0 {
			out.addf("pod %s has a stale condition DisruptionTarget", store.KeyOf(p))
		}
	}
	o, exists := a.w.API().Get(store.Nodes, p.Spec.NodeName)
	if !exists || p.DeletionTimestamp != nil {
		return
	}
	n, _ := a.o.Scheduler.Converter().Compile(o).(*model.Node)
	for i := range n.Taints {
		t := &n.Taints[i]
		tolerates := func(tol model.Toleration) bool { return tol.ToleratesTaint(t, false) }
		if t.Effect == model.NoExecute && !slices.ContainsFunc(a.compile(p).Spec.Tolerations, tolerates) {
			out.addf("pod %s is not evicted from node %s, which has taint %s:NoExecute", store.KeyOf(p), n.Name, t.Key)
		}
	}
}

// isOutdated reports whether the status of a budget does not follow from its pods. It omits budgets of pods with fake
// owners: as for all custom resources, no watch delivers a change of their scale.
func (a *Checker) isOutdated(b *policyv1.PodDisruptionBudget) bool {
	if slices.ContainsFunc(a.o.Ledger.Pods(b), hasFakeOwner) {
		return false
	}
	c, s := a.o.Ledger.ComputeStatus(b), &b.Status
	return c.DisruptionsAllowed != s.DisruptionsAllowed || !c.Failed() &&
		(c.CurrentHealthy != s.CurrentHealthy || c.DesiredHealthy != s.DesiredHealthy || c.ExpectedPods != s.ExpectedPods || c.ObservedGeneration != s.ObservedGeneration)
}

func hasFakeOwner(p *corev1.Pod) bool {
	c := metav1.GetControllerOfNoCopy(p)
	return c != nil && strings.HasPrefix(string(c.UID), fakeowners.UIDPrefix)
}

// addRecord adds that the displacement record in an event lacks the end of its pod, or the node of its replacement.
func (a *Checker) addRecord(out *workList, e *eventsv1.Event, pods map[string]*corev1.Pod) {
	if e.Annotations[journal.Annotation] == "" {
		return
	}
	d, err := journal.ParseDisplacement(e.Annotations[journal.Annotation])
	if err != nil || a.since(d.Time) > recordCompletion {
		return
	}
	if p := pods[d.Pod.UID]; d.Deleted == nil && (p == nil || store.Finished(p)) {
		out.addf("the record of pod %s does not contain its end", d.Pod.Key())
	}
	if r := d.Replacement; r != nil && r.Node == "" && pods[r.UID] != nil && pods[r.UID].Spec.NodeName != "" {
		out.addf("the record of pod %s does not contain the node of its replacement %s", d.Pod.Key(), r.Name)
	}
}
