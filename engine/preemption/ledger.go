package preemption

import (
	"slices"

	"github.com/berthproject/berth/engine/budget"
	"github.com/berthproject/berth/engine/cluster"
	"github.com/berthproject/berth/engine/model"
)

// ledger holds what all budgets allow, updated pod by pod.
type ledger struct {
	rule        budget.Rule
	state       *cluster.State
	version     uint64
	entries     []budgetEntry      // sorted by namespace and name of the budget
	byNamespace map[string][]int32 // indexes of a namespace's entries
	evicted     []int32            // scratch of violates, by entry
	touched     []int32            // entries with a nonzero count in evicted
}

type budgetEntry struct {
	budget     *model.Budget
	healthy    int32
	allowed    int32
	podsByNode []int32 // covered pods, by NodeID
	stale      bool    // allowed must be recomputed
}

// sync applies changes of budgets. It reports whether pods must be assigned to budgets again.
func (l *ledger) sync(t *nodeIndex) (changed bool) {
	if l.version == l.state.BudgetsVersion() {
		return false
	}
	l.version = l.state.BudgetsVersion()
	budgets := l.state.AllBudgets()
	if !slices.EqualFunc(l.entries, budgets, func(e budgetEntry, b *model.Budget) bool { return sameCoverage(e.budget, b) }) {
		l.entries = l.entries[:0]
		l.byNamespace = map[string][]int32{}
		for i, b := range budgets {
			l.entries = append(l.entries, budgetEntry{budget: b})
			l.byNamespace[b.Namespace] = append(l.byNamespace[b.Namespace], int32(i))
		}
		l.evicted = make([]int32, len(budgets))
		return true
	}
	for i, b := range budgets {
		if l.entries[i].budget != b {
			l.updateBudget(t, int32(i), b)
		}
	}
	return false
}

// sameCoverage reports whether two budgets cover the same pods.
func sameCoverage(a, b *model.Budget) bool {
	return a.Namespace == b.Namespace && a.Name == b.Name && (a.Selector == nil) == (b.Selector == nil) &&
		(a.Selector == nil || slices.EqualFunc(a.Selector.Requirements, b.Selector.Requirements, func(x, y model.Requirement) bool {
			return x.Key == y.Key && x.Op == y.Op && slices.Equal(x.Values, y.Values)
		}))
}

// updateBudget applies a budget's new status. Changed disruptedPods entries change which pods are
// healthy and what their eviction costs.
func (l *ledger) updateBudget(t *nodeIndex, entry int32, current *model.Budget) {
	e := &l.entries[entry]
	old := e.budget
	e.stale = true
	if names := symmetricDifference(old.Disrupted, current.Disrupted); len(names) > 0 {
		hashes := make([]uint32, len(names))
		for i, n := range names {
			hashes[i] = l.hashName(n)
		}
		for id, n := range e.podsByNode {
			if n > 0 {
				l.updateEntries(t, entry, cluster.NodeID(id), current, hashes)
			}
		}
	}
	e.budget = current
}

// updateEntries applies the change of disruptedPods entries to the pods on a node. names are hashes
// of pod names.
func (l *ledger) updateEntries(t *nodeIndex, entry int32, id cluster.NodeID, current *model.Budget, names []uint32) {
	e, onNode := &l.entries[entry], &t.byID[id]
	for k := range onNode.pods {
		if !slices.Contains(names, onNode.pods[k].nameHash) || !slices.Contains(onNode.budgets[k], entry) {
			continue
		}
		e.healthy += healthyCount(current, onNode.pods[k].pod) - healthyCount(e.budget, onNode.pods[k].pod)
		t.dirty.add(id)
	}
}

// hashName returns a hash of a pod's name that makes false matches rare; 0 if there are no budgets.
func (l *ledger) hashName(name string) uint32 {
	if len(l.entries) == 0 {
		return 0
	}
	return uint32(cluster.Hash64(0, name))
}

// symmetricDifference returns the names that are in exactly one of two sorted lists.
func symmetricDifference(a, b []string) []string {
	var out []string
	for _, n := range a {
		if _, found := slices.BinarySearch(b, n); !found {
			out = append(out, n)
		}
	}
	for _, n := range b {
		if _, found := slices.BinarySearch(a, n); !found {
			out = append(out, n)
		}
	}
	return out
}

func healthyCount(b *model.Budget, p *model.Pod) int32 {
	if budget.Healthy(b, p) {
		return 1
	}
	return 0
}

// reset removes all pods.
func (l *ledger) reset() {
	for i := range l.entries {
		e := &l.entries[i]
		e.healthy, e.stale = 0, true
		clear(e.podsByNode)
	}
}

// addNode counts the pods of a node and stores which budgets cover them.
func (l *ledger) addNode(id cluster.NodeID, onNode *podsOnNode) {
	if len(l.entries) == 0 {
		return
	}
	for k := range onNode.pods {
		pod := onNode.pods[k].pod
		var covering []int32
		for _, i := range l.byNamespace[pod.Namespace] {
			if e := &l.entries[i]; l.rule.Covers(e.budget, pod) {
				covering = append(covering, i)
				e.addPod(id, pod, 1)
			}
		}
		if covering != nil && onNode.budgets == nil {
			onNode.budgets = make([][]int32, len(onNode.pods))
		}
		if covering != nil {
			onNode.budgets[k] = covering
		}
	}
}

// removeNode reverts addNode.
func (l *ledger) removeNode(id cluster.NodeID, onNode *podsOnNode) {
	for k, covering := range onNode.budgets {
		for _, i := range covering {
			l.entries[i].addPod(id, onNode.pods[k].pod, -1)
		}
	}
}

func (e *budgetEntry) addPod(id cluster.NodeID, pod *model.Pod, sign int32) {
	for len(e.podsByNode) <= int(id) {
		e.podsByNode = append(e.podsByNode, 0)
	}
	e.podsByNode[id] += sign
	e.healthy += sign * healthyCount(e.budget, pod)
	e.stale = true
}

// recompute updates what budgets allow. If that changes, only nodes with more covered pods than the
// budget allows can have a different result.
func (l *ledger) recompute(t *nodeIndex) {
	for i := range l.entries {
		e := &l.entries[i]
		if !e.stale {
			continue
		}
		e.stale = false
		old := e.allowed
		if e.allowed = l.rule.Allowed(e.budget, e.healthy); e.allowed == old {
			continue
		}
		for id, n := range e.podsByNode {
			if n > min(old, e.allowed) {
				t.dirty.add(cluster.NodeID(id))
			}
		}
	}
}

// violates reports whether evicting pod k violates a budget if the pods passed since the last resetEvicted are
// evicted first.
func (l *ledger) violates(onNode *podsOnNode, k int) bool {
	violation := false
	for _, i := range onNode.budgets[k] {
		e := &l.entries[i]
		if !l.rule.Costs(e.budget, onNode.pods[k].pod) {
			continue
		}
		if l.evicted[i] == 0 {
			l.touched = append(l.touched, i)
		}
		l.evicted[i]++
		violation = violation || l.evicted[i] > e.allowed
	}
	return violation
}

// resetEvicted starts a new count for violates.
func (l *ledger) resetEvicted() {
	for _, i := range l.touched {
		l.evicted[i] = 0
	}
	l.touched = l.touched[:0]
}

// nodeAllowances returns the allowances of the budgets that cover a node's pods.
func (l *ledger) nodeAllowances(onNode *podsOnNode) *budget.Allowances {
	var indexes []int32
	for _, covering := range onNode.budgets {
		indexes = append(indexes, covering...)
	}
	slices.Sort(indexes)
	a := &budget.Allowances{Rule: l.rule}
	for _, i := range slices.Compact(indexes) {
		a.Budgets, a.Allowed = append(a.Budgets, l.entries[i].budget), append(a.Allowed, l.entries[i].allowed)
	}
	return a
}
