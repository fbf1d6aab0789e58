package preemption

import (
	"slices"

	"github.com/berthproject/berth/engine/cluster"
	"github.com/berthproject/berth/engine/model"
)

// podsOnNode is what preemption reads of a node, close together: its pods by
// importance, with what they take, and who is nominated to it.
type podsOnNode struct {
	pods []podInfo
	// budgets are the budgets over each seat's pod, as indices of the books; nil when
	// no pod here is under a budget.
	budgets   [][]int32
	nominated []*model.Pod // of the State: it holds until that changes
	// phantoms is how many of them are.
	phantoms int
}

// podInfo is a pod in a stack.
type podInfo struct {
	pod      *model.Pod
	start    int64
	cpu, mem int64
	priority int32
	nameHash uint32 // a hash of it, where there are budgets
}

// nodeIndex are those of all nodes, kept up to date by the log of the cluster's index.
type nodeIndex struct {
	state     *cluster.State
	index     *cluster.Index
	ledger    *ledger
	byID      []podsOnNode  // by NodeID
	summaries []nodeSummary // by NodeID
	// priorities is how many pods there are of each.
	priorities map[int32]int
	// phantoms is how many nominations are of phantoms, which count for some owners' pods alone.
	phantoms int
	pos      int64 // of the index's log
	built    bool  // they were made at all

	dirty dirtyLog
	slab  []podInfo // not given to a node yet
}

// slabSize is how many seats a slab has.
const slabSize = 4096

// sync looks again at the nodes that have changed. Everything is new when the log does
// not reach back far enough.
func (t *nodeIndex) sync() {
	entries, ok := t.index.Log(t.pos)
	fresh := t.ledger.sync(t)
	if !t.built || !ok || fresh {
		t.built = true
		t.dirty.reset(len(t.index.Rows))
		t.ledger.reset()
		t.phantoms = 0
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

// allocPods cuts a node's first seats out of a slab, as the first look at a cluster is at all its nodes.
func (t *nodeIndex) allocPods(n int) []podInfo {
	if n > len(t.slab) {
		t.slab = make([]podInfo, max(n, slabSize))
	}
	out := t.slab[:0:n]
	t.slab = t.slab[n:]
	return out
}

// rebuildNode makes a node's stack anew.
func (t *nodeIndex) rebuildNode(id cluster.NodeID) {
	for len(t.byID) <= int(id) {
		t.byID, t.summaries = append(t.byID, podsOnNode{}), append(t.summaries, nodeSummary{})
	}
	st := &t.byID[id]
	t.ledger.removeNode(id, st)
	t.phantoms -= st.phantoms
	for i := range st.pods {
		t.priorities[st.pods[i].priority]--
	}
	t.summaries[id] = nodeSummary{}
	st.pods, st.budgets, st.nominated, st.phantoms = st.pods[:0], nil, nil, 0
	n := t.state.Node(id)
	if n == nil {
		return
	}
	st.nominated = t.state.Nominated(id)
	for _, p := range st.nominated {
		if p.Placeholder {
			st.phantoms++
		}
	}
	t.phantoms += st.phantoms
	if st.pods == nil {
		st.pods = t.allocPods(len(n.Pods))
	} else {
		st.pods = slices.Grow(st.pods, len(n.Pods))
	}
	for _, p := range n.Pods {
		r := &p.Spec.Requests
		st.pods = append(st.pods, podInfo{p, startSeconds(p), r.MilliCPU, r.Memory, p.Spec.Priority, t.ledger.hashName(p.Name)})
	}
	slices.SortFunc(st.pods, func(a, b podInfo) int {
		switch { // priority first, before anything is looked up
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
	t.ledger.addNode(id, st)
	t.summaries[id] = st.summarize(&t.index.Rows[id])
	for i := range st.pods {
		t.priorities[st.pods[i].priority]++
	}
}

// anyLowerPriority says whether a pod of lower priority is on any node.
func (t *nodeIndex) anyLowerPriority(priority int32) bool {
	for p, n := range t.priorities { // any; the order does not matter
		if p < priority && n > 0 {
			return true
		}
	}
	return false
}

// firstLower is the index of the first seat of lower priority; those from there on might leave.
func (st *podsOnNode) firstLower(priority int32) int {
	i := len(st.pods)
	for i > 0 && st.pods[i-1].priority < priority {
		i--
	}
	return i
}
