package preemption

import (
	"slices"

	"github.com/berthproject/berth/engine/cluster"
	"github.com/berthproject/berth/engine/model"
)

// podsOnNode is what preemption reads of a node, in one place: its pods by descending importance
// with their requests, and the pods nominated to it.
type podsOnNode struct {
	pods []podInfo
	// budgets are the budgets that cover each pod, as indexes into the ledger; nil if no pod is
	// covered.
	budgets   [][]int32
	nominated []*model.Pod // owned by the State and valid until it changes
	// placeholders is the number of nominated pods that are placeholders of reservations.
	placeholders int
}

// podInfo is what preemption reads of a pod.
type podInfo struct {
	pod      *model.Pod
	start    int64 // see startSeconds
	cpu, mem int64
	priority int32
	nameHash uint32 // set if there are budgets
}

// nodeIndex holds podsOnNode for all nodes, kept up to date by the log of the cluster's index.
type nodeIndex struct {
	state     *cluster.State
	index     *cluster.Index
	ledger    *ledger
	byID      []podsOnNode  // by NodeID
	summaries []nodeSummary // by NodeID
	// priorities counts the pods of each priority.
	priorities map[int32]int
	// placeholders counts nominations that are placeholders of reservations; they apply to pods of some
	// owners only.
	placeholders int
	pos          int64 // position in the index's log
	built        bool  // the index was built once

	dirty dirtyLog
	slab  []podInfo // not assigned to a node yet
}

// slabSize is the number of podInfos in a slab.
const slabSize = 4096

// sync updates the nodes that have changed. It updates all nodes if the log does not reach back far
// enough, or if budgets cover other pods than before.
func (t *nodeIndex) sync() {
	entries, ok := t.index.Log(t.pos)
	reassign := t.ledger.sync(t)
	if !t.built || !ok || reassign {
		t.built = true
		t.dirty.reset(len(t.index.Rows))
		t.ledger.reset()
		t.placeholders = 0
		clear(t.priorities)
		for id := range t.byID {
			t.byID[id], t.summaries[id] = podsOnNode{}, nodeSummary{}
		}
		for _, id := range t.state.NodeIDs() {
			t.rebuildNode(id)
		}
	} else {
		for i, id := range entries {
			if t.index.IsLast(id, t.pos+int64(i)) {
				t.rebuildNode(id)
				t.dirty.add(id)
			}
		}
	}
	t.pos = t.index.LogEnd()
	t.ledger.recompute(t)
}

// allocPods returns a slice from a slab, to save allocations in the first sync, which builds all nodes.
func (t *nodeIndex) allocPods(n int) []podInfo {
	if n > len(t.slab) {
		t.slab = make([]podInfo, max(n, slabSize))
	}
	out := t.slab[:0:n]
	t.slab = t.slab[n:]
	return out
}

func (t *nodeIndex) rebuildNode(id cluster.NodeID) {
	for len(t.byID) <= int(id) {
		t.byID, t.summaries = append(t.byID, podsOnNode{}), append(t.summaries, nodeSummary{})
	}
	onNode := &t.byID[id]
	t.ledger.removeNode(id, onNode)
	t.placeholders -= onNode.placeholders
	for i := range onNode.pods {
		t.priorities[onNode.pods[i].priority]--
	}
	t.summaries[id] = nodeSummary{}
	onNode.pods, onNode.budgets, onNode.nominated, onNode.placeholders = onNode.pods[:0], nil, nil, 0
	n := t.state.Node(id)
	if n == nil {
		return
	}
	onNode.nominated = t.state.Nominated(id)
	for _, p := range onNode.nominated {
		if p.Placeholder {
			onNode.placeholders++
		}
	}
	t.placeholders += onNode.placeholders
	if onNode.pods == nil {
		onNode.pods = t.allocPods(len(n.Pods))
	} else {
		onNode.pods = slices.Grow(onNode.pods, len(n.Pods))
	}
	for _, p := range n.Pods {
		r := &p.Spec.Requests
		onNode.pods = append(onNode.pods, podInfo{p, startSeconds(p), r.MilliCPU, r.Memory, p.Spec.Priority, t.ledger.hashName(p.Name)})
	}
	slices.SortFunc(onNode.pods, func(a, b podInfo) int {
		switch { // compare the fields of podInfo first
		case a.priority != b.priority:
			if a.priority > b.priority {
				return -1
			}
			return 1
		case a.start != b.start:
			if a.start < b.start {
				return -1
			}
			return 1
		}
		return compareImportance(a.pod, b.pod)
	})
	t.ledger.addNode(id, onNode)
	t.summaries[id] = onNode.summarize(&t.index.Rows[id])
	for i := range onNode.pods {
		t.priorities[onNode.pods[i].priority]++
	}
}

// anyLowerPriority reports whether any node has a pod of lower priority.
func (t *nodeIndex) anyLowerPriority(priority int32) bool {
	for p, n := range t.priorities { // the order does not matter
		if p < priority && n > 0 {
			return true
		}
	}
	return false
}

// firstLower returns the index of the first pod of lower priority; that pod and all later ones are
// potential victims.
func (onNode *podsOnNode) firstLower(priority int32) int {
	i := len(onNode.pods)
	for i > 0 && onNode.pods[i-1].priority < priority {
		i--
	}
	return i
}
