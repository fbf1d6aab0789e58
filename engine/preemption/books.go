package preemption

import (
	"slices"

	"github.com/berthproject/berth/engine/budget"
	"github.com/berthproject/berth/engine/cluster"
	"github.com/berthproject/berth/engine/model"
)

// books are what all budgets allow, kept up to date pod by pod.
type books struct {
	rule    budget.Rule
	state   *cluster.State
	version uint64
	pages   []page             // by namespace and name of the budgets
	spaces  map[string][]int32 // the pages of a namespace
	left    []int32            // scratch of split, by page
	touched []int32
}

// page is one budget's.
type page struct {
	budget  *model.Budget
	healthy int32
	allowed int32
	on      []int32 // pods under the budget, by NodeID
	stale   bool    // allowed is to be found out again
}

// sync takes notice of budgets that came, went or changed. It returns whether pods
// have to be assigned to budgets anew.
func (b *books) sync(t *stacks) (fresh bool) {
	if b.version == b.state.BudgetsVersion() {
		return false
	}
	b.version = b.state.BudgetsVersion()
	now := b.state.AllBudgets()
	if !slices.EqualFunc(b.pages, now, func(p page, n *model.Budget) bool { return samePage(p.budget, n) }) {
		b.pages = b.pages[:0]
		b.spaces = map[string][]int32{}
		for i, n := range now {
			b.pages = append(b.pages, page{budget: n})
			b.spaces[n.Namespace] = append(b.spaces[n.Namespace], int32(i))
		}
		b.left = make([]int32, len(now))
		return true
	}
	for i, n := range now {
		if b.pages[i].budget != n {
			b.turn(t, int32(i), n)
		}
	}
	return false
}

// samePage says whether two budgets cover the same pods.
func samePage(a, b *model.Budget) bool {
	return a.Namespace == b.Namespace && a.Name == b.Name && (a.Selector == nil) == (b.Selector == nil) &&
		(a.Selector == nil || slices.EqualFunc(a.Selector.Requirements, b.Selector.Requirements, func(x, y model.Requirement) bool {
			return x.Key == y.Key && x.Op == y.Op && slices.Equal(x.Values, y.Values)
		}))
}

// turn takes in a budget's new status. Entries of disruptedPods that came or went
// change what their pods cost, and who is healthy.
func (b *books) turn(t *stacks, page int32, now *model.Budget) {
	p := &b.pages[page]
	old := p.budget
	p.stale = true
	if names := differing(old.Disrupted, now.Disrupted); len(names) > 0 {
		hashes := make([]uint32, len(names))
		for i, n := range names {
			hashes[i] = b.hash(n)
		}
		for id, n := range p.on {
			if n > 0 {
				b.moved(t, page, cluster.NodeID(id), now, hashes)
			}
		}
	}
	p.budget = now
}

// moved takes in that pods on a node got or lost their entries in a budget. names are
// hashes of their names.
func (b *books) moved(t *stacks, page int32, id cluster.NodeID, now *model.Budget, names []uint32) {
	p, st := &b.pages[page], &t.of[id]
	for k := range st.seats {
		if !slices.Contains(names, st.seats[k].name) || !slices.Contains(st.covers[k], page) {
			continue
		}
		p.healthy += healthy(now, st.seats[k].pod) - healthy(p.budget, st.seats[k].pod)
		t.dirty.add(id)
	}
}

// hash tells names apart well enough to look at few pods in vain.
func (b *books) hash(name string) uint32 {
	if len(b.pages) == 0 {
		return 0
	}
	return uint32(cluster.Hash64(0, name))
}

// differing are the names that are in one of two sorted lists alone.
func differing(a, b []string) []string {
	var out []string
	for _, n := range a {
		if _, both := slices.BinarySearch(b, n); !both {
			out = append(out, n)
		}
	}
	for _, n := range b {
		if _, both := slices.BinarySearch(a, n); !both {
			out = append(out, n)
		}
	}
	return out
}

func healthy(b *model.Budget, p *model.Pod) int32 {
	if budget.Healthy(b, p) {
		return 1
	}
	return 0
}

// clear forgets all pods.
func (b *books) clear() {
	for i := range b.pages {
		p := &b.pages[i]
		p.healthy, p.stale = 0, true
		clear(p.on)
	}
}

// enter books the pods of a stack, and notes in it who is under which budget.
func (b *books) enter(id cluster.NodeID, st *stack) {
	if len(b.pages) == 0 {
		return
	}
	for k := range st.seats {
		pod := st.seats[k].pod
		var covers []int32
		for _, i := range b.spaces[pod.Namespace] {
			if p := &b.pages[i]; b.rule.Covers(p.budget, pod) {
				covers = append(covers, i)
				p.count(id, pod, 1)
			}
		}
		if covers != nil && st.covers == nil {
			st.covers = make([][]int32, len(st.seats))
		}
		if covers != nil {
			st.covers[k] = covers
		}
	}
}

// leave undoes enter.
func (b *books) leave(id cluster.NodeID, st *stack) {
	for k, covers := range st.covers {
		for _, i := range covers {
			b.pages[i].count(id, st.seats[k].pod, -1)
		}
	}
}

func (p *page) count(id cluster.NodeID, pod *model.Pod, sign int32) {
	for len(p.on) <= int(id) {
		p.on = append(p.on, 0)
	}
	p.on[id] += sign
	p.healthy += sign * healthy(p.budget, pod)
	p.stale = true
}

// settle finds out what budgets allow now. Where it is more or less than before,
// only nodes with more pods under the budget than it allows in both cases can come out otherwise.
func (b *books) settle(t *stacks) {
	for i := range b.pages {
		p := &b.pages[i]
		if !p.stale {
			continue
		}
		p.stale = false
		old := p.allowed
		if p.allowed = b.rule.Allowed(p.budget, p.healthy); p.allowed == old {
			continue
		}
		for id, n := range p.on {
			if n > min(old, p.allowed) {
				t.dirty.add(cluster.NodeID(id))
			}
		}
	}
}

// past says whether the pod of a seat goes past a budget if it leaves after those
// asked about since the last forget.
func (b *books) past(st *stack, k int) bool {
	past := false
	for _, i := range st.covers[k] {
		p := &b.pages[i]
		if !b.rule.Costs(p.budget, st.seats[k].pod) {
			continue
		}
		if b.left[i] == 0 {
			b.touched = append(b.touched, i)
		}
		b.left[i]++
		past = past || b.left[i] > p.allowed
	}
	return past
}

// forget begins a new count for past.
func (b *books) forget() {
	for _, i := range b.touched {
		b.left[i] = 0
	}
	b.touched = b.touched[:0]
}

// account is the account of the budgets over a node's pods.
func (b *books) account(st *stack) *budget.Account {
	var pages []int32
	for _, covers := range st.covers {
		pages = append(pages, covers...)
	}
	slices.Sort(pages)
	a := &budget.Account{Rule: b.rule}
	for _, i := range slices.Compact(pages) {
		a.Budgets, a.Allowed = append(a.Budgets, b.pages[i].budget), append(a.Allowed, b.pages[i].allowed)
	}
	return a
}
