package preemption

import (
	"slices"

	"github.com/berthproject/berth/engine/cluster"
	"github.com/berthproject/berth/engine/model"
)

// stack is what preemption reads of a node, close together: its pods by
// importance, with what they take, and who is nominated to it.
type stack struct {
	seats []seat
	// covers are the budgets over each seat's pod, as indices of the books; nil when
	// no pod here is under a budget.
	covers [][]int32
	ahead  []*model.Pod // of the State: it holds until that changes
	// phantoms is how many of them are.
	phantoms int
}

// seat is a pod in a stack.
type seat struct {
	pod      *model.Pod
	start    int64
	cpu, mem int64
	priority int32
	name     uint32 // a hash of it, where there are budgets
}

// stacks are those of all nodes, kept up to date by the log of the cluster's index.
type stacks struct {
	state *cluster.State
	index *cluster.Index
	books *books
	of    []stack // by NodeID
	brief []brief // by NodeID
	// priorities is how many pods there are of each.
	priorities map[int32]int
	// phantoms is how many nominations are of phantoms, which count for some owners' pods alone.
	phantoms int
	pos      int64 // of the index's log
	known    bool  // they were made at all

	dirty dirtyLog
	slab  []seat // not given to a node yet
}

// seatsAtOnce is how many seats a slab has.
const seatsAtOnce = 4096

// sync looks again at the nodes that have changed. Everything is new when the log does
// not reach back far enough.
func (t *stacks) sync() {
	entries, ok := t.index.Log(t.pos)
	fresh := t.books.sync(t)
	if !t.known || !ok || fresh {
		t.known = true
		t.dirty.reset(len(t.index.Rows))
		t.books.clear()
		t.phantoms = 0
		clear(t.priorities)
		for id := range t.of {
			t.of[id], t.brief[id] = stack{}, brief{}
		}
		for _, id := range t.state.NodeIDs() {
			t.look(id)
		}
	} else {
		for i, id := range entries {
			if t.index.IsLast(id, t.pos+int64(i)) {
				t.look(id)
				t.dirty.add(id)
			}
		}
	}
	t.pos = t.index.LogEnd()
	t.books.settle(t)
}

// room cuts a node's first seats out of a slab, as the first look at a cluster is at all its nodes.
func (t *stacks) room(n int) []seat {
	if n > len(t.slab) {
		t.slab = make([]seat, max(n, seatsAtOnce))
	}
	out := t.slab[:0:n]
	t.slab = t.slab[n:]
	return out
}

// look makes a node's stack anew.
func (t *stacks) look(id cluster.NodeID) {
	for len(t.of) <= int(id) {
		t.of, t.brief = append(t.of, stack{}), append(t.brief, brief{})
	}
	st := &t.of[id]
	t.books.leave(id, st)
	t.phantoms -= st.phantoms
	for i := range st.seats {
		t.priorities[st.seats[i].priority]--
	}
	t.brief[id] = brief{}
	st.seats, st.covers, st.ahead, st.phantoms = st.seats[:0], nil, nil, 0
	n := t.state.Node(id)
	if n == nil {
		return
	}
	st.ahead = t.state.Nominated(id)
	for _, p := range st.ahead {
		if p.Phantom {
			st.phantoms++
		}
	}
	t.phantoms += st.phantoms
	if st.seats == nil {
		st.seats = t.room(len(n.Pods))
	} else {
		st.seats = slices.Grow(st.seats, len(n.Pods))
	}
	for _, p := range n.Pods {
		r := &p.Spec.Requests
		st.seats = append(st.seats, seat{p, startOf(p), r.MilliCPU, r.Memory, p.Spec.Priority, t.books.hash(p.Name)})
	}
	slices.SortFunc(st.seats, func(a, b seat) int {
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
		return byImportance(a.pod, b.pod)
	})
	t.books.enter(id, st)
	t.brief[id] = st.brief(&t.index.Rows[id])
	for i := range st.seats {
		t.priorities[st.seats[i].priority]++
	}
}

// anyBelow says whether a pod of lower priority is on any node.
func (t *stacks) anyBelow(priority int32) bool {
	for p, n := range t.priorities { // any; the order does not matter
		if p < priority && n > 0 {
			return true
		}
	}
	return false
}

// lower is the index of the first seat of lower priority; those from there on might leave.
func (st *stack) lower(priority int32) int {
	i := len(st.seats)
	for i > 0 && st.seats[i-1].priority < priority {
		i--
	}
	return i
}
