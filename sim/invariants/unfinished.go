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
	"github.com/berthproject/berth/sim"
	"github.com/berthproject/berth/sim/fakeowners"
	"github.com/berthproject/berth/sim/store"
)

// wrongReplicas describes the ReplicaSets with more or fewer pods than replicas.
func (a *Checker) wrongReplicas() (out []string) {
	pods := map[types.UID]int32{}
	for _, p := range a.storedPods() {
		if c := metav1.GetControllerOfNoCopy(p); c != nil && p.DeletionTimestamp == nil && !store.Finished(p) {
			pods[c.UID]++
		}
	}
	for _, o := range a.w.API().List(store.ReplicaSets) {
		rs, ok := o.(*appsv1.ReplicaSet)
		if ok && rs.DeletionTimestamp == nil && rs.Spec.Replicas != nil && pods[rs.UID] != *rs.Spec.Replicas {
			out = append(out, fmt.Sprintf("replicaset %s does not have %d pods", store.KeyOf(rs), *rs.Spec.Replicas))
		}
	}
	return out
}

// outdatedBudgets describes the budgets whose status does not follow from the pods. Budgets of pods with fake owners are
// omitted: as for all custom resources, no watch delivers a change of their scale.
func (a *Checker) outdatedBudgets() (out []string) {
	for _, o := range a.w.API().List(store.PodDisruptionBudgets) {
		b, ok := o.(*policyv1.PodDisruptionBudget)
		pods := a.ledger.Members(store.KeyOf(b))
		if !ok || slices.ContainsFunc(pods, hasFakeOwner) {
			continue
		}
		c := a.ledger.StatusInputs(b, pods).ComputeStatus()
		s := &b.Status
		if c.DisruptionsAllowed != s.DisruptionsAllowed || !c.Failed() &&
			(c.CurrentHealthy != s.CurrentHealthy || c.DesiredHealthy != s.DesiredHealthy || c.ExpectedPods != s.ExpectedPods || c.ObservedGeneration != s.ObservedGeneration) {
			out = append(out, "budget "+store.KeyOf(b)+" has an outdated status")
		}
	}
	return out
}

func hasFakeOwner(p *corev1.Pod) bool {
	c := metav1.GetControllerOfNoCopy(p)
	return c != nil && strings.HasPrefix(string(c.UID), fakeowners.UIDPrefix)
}

// recordCompletion is the age up to which the controller of displacement records completes a record.
const recordCompletion = 30 * time.Minute

// incompleteRecords describes the displacement records without the end of their pod, or without the node of its
// replacement.
func (a *Checker) incompleteRecords() (out []string) {
	pods := map[string]*corev1.Pod{}
	for _, p := range a.storedPods() {
		pods[string(p.UID)] = p
	}
	for _, o := range a.w.API().List(store.Events) {
		e, ok := o.(*eventsv1.Event)
		if !ok || e.Annotations[journal.Annotation] == "" {
			continue
		}
		d, err := journal.ParseDisplacement(e.Annotations[journal.Annotation])
		if err != nil || a.w.Now().Sub(d.Time) > recordCompletion {
			continue
		}
		if p := pods[d.Pod.UID]; d.Deleted == nil && (p == nil || store.Finished(p)) {
			out = append(out, "the record of pod "+d.Pod.Key()+" does not contain its end")
		}
		if r := d.Replacement; r != nil && r.Node == "" && pods[r.UID] != nil && pods[r.UID].Spec.NodeName != "" {
			out = append(out, "the record of pod "+d.Pod.Key()+" does not contain the node of its replacement "+r.Name)
		}
	}
	return out
}

// untoleratedTaints describes the pods that run on nodes with NoExecute taints that they do not tolerate.
func (a *Checker) untoleratedTaints() (out []string) {
	for _, p := range a.storedPods() {
		o, exists := a.w.API().Get(store.Nodes, p.Spec.NodeName)
		if !exists || p.DeletionTimestamp != nil {
			continue
		}
		n, _ := a.scheduler.Converter().Compile(o).(*model.Node)
		for i := range n.Taints {
			t := &n.Taints[i]
			tolerates := func(tol model.Toleration) bool { return tol.ToleratesTaint(t, false) }
			if t.Effect == model.NoExecute && !slices.ContainsFunc(a.compile(p).Spec.Tolerations, tolerates) {
				out = append(out, fmt.Sprintf("pod %s is not evicted from node %s, which has taint %s:NoExecute", store.KeyOf(p), n.Name, t.Key))
			}
		}
	}
	return out
}

// staleConditions describes the pods with a condition DisruptionTarget that are not displaced after all.
func (a *Checker) staleConditions() (out []string) {
	for _, p := range a.storedPods() {
		c := conversion.ActiveDisruptionTarget(p)
		if c == nil {
			continue
		}
		if remaining, ends := budget.StaleConditionAfter(a.w.BudgetPod(p), c.LastTransitionTime.Time, a.w.Now()); ends && remaining == 0 {
			out = append(out, "pod "+store.KeyOf(p)+" has a stale condition DisruptionTarget")
		}
	}
	return out
}

// openEvictions describes the pods that a client evicts until they are deleted, and whose budgets all allow it.
func (a *Checker) openEvictions() (out []string) {
	a.evicting = slices.DeleteFunc(a.evicting, func(e sim.Evicting) bool {
		p := a.w.API().Pod(e.Pod)
		return p == nil || string(p.UID) != e.UID || e.Ended()
	})
	for _, e := range a.evicting {
		p := a.w.API().Pod(e.Pod)
		refused := slices.ContainsFunc(a.ledger.BudgetsOf(p), func(key string) bool {
			o, _ := a.w.API().Get(store.PodDisruptionBudgets, key)
			b, ok := o.(*policyv1.PodDisruptionBudget)
			return ok && a.disruptionsAllowed(key, b) <= 0
		})
		if p.DeletionTimestamp == nil && !refused {
			out = append(out, "pod "+e.Pod+" is not evicted, although no budget refuses it")
		}
	}
	return out
}

// openTasks describes the tasks of actors that have not ended.
func (a *Checker) openTasks() (out []string) {
	a.tasks = slices.DeleteFunc(a.tasks, func(t sim.Task) bool { return t.Ended() })
	for _, t := range a.tasks {
		out = append(out, t.Name+" has not ended")
	}
	return out
}

// storedPods returns the pods.
func (a *Checker) storedPods() (out []*corev1.Pod) {
	for _, o := range a.w.API().List(store.Pods) {
		if p, ok := o.(*corev1.Pod); ok {
			out = append(out, p)
		}
	}
	return out
}
