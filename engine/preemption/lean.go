package preemption

import (
	"cmp"
	"math"
	"slices"

	"github.com/berthproject/berth/engine/cluster"
	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/placement"
)

// plenty is an amount that nobody asks for.
const plenty = math.MaxInt64 / 4

// needs is what a pod needs for which nothing but the node itself counts.
type needs struct {
	placement.Lone
	pod      *model.Pod // any of its kind
	amounts  model.Requests
	counted  bool
	ports    []model.HostPort
	simple   bool // cpu, memory and the number of pods are all
	cpu, mem int64
}

func needsOf(l placement.Lone, pod *model.Pod) *needs {
	any := *pod
	any.UID, any.Nominated = "", ""
	n := &needs{Lone: l, pod: &any}
	n.amounts, n.counted, n.ports = l.Wants()
	n.simple = len(n.ports)+len(n.amounts.Scalars) == 0 && n.amounts.Ephemeral <= 0
	n.cpu, n.mem = n.amounts.MilliCPU, n.amounts.Memory
	return n
}

// result is what trying a node came to.
type result struct {
	kind kind
	fail placement.Fail // when kind is stillOut
	cost cost           // when kind is helped
}

type kind uint8

const (
	absent    kind = iota // no such node
	helped                // some pods' leaving makes room
	notNeeded             // there is room
	hopeless              // out for good
	nobody                // nobody of lower priority is there
	stillOut              // there is no room without them either
)

// room is what is left on a node beside the pod and those who stay.
type room struct{ cpu, mem, pods int64 }

// lean tries nodes for pods that Lone knows all about. What is kept in it is scratch.
type lean struct {
	stacks  *stacks
	order   []int32      // seats to be reprieved, after the first split
	victims []*model.Pod // of the last try, unordered
	sorted  []*model.Pod // scratch
	used    model.Requests
	ports   portSet
	others  []int32
	ahead   []*model.Pod
}

// try finds out what it takes to make room on a node. pod is who asks: its own
// nomination does not count.
func (l *lean) try(n *needs, pod *model.Pod, id cluster.NodeID) result {
	x := l.stacks.index
	row := &x.Rows[id]
	l.victims = l.victims[:0]
	if !row.Live {
		return result{}
	}
	if n.Barred(id) {
		return result{kind: hopeless}
	}
	st := &l.stacks.of[id]
	if !n.simple || len(st.ahead) > 0 {
		return l.tryOdd(n, pod, id, st)
	}
	free := room{row.AllocCPU - row.UsedCPU, row.AllocMem - row.UsedMem, int64(row.AllocPods - row.Pods)}
	fits := true
	if n.counted && free.pods < 1 {
		fits = false
	}
	for _, f := range [2][3]int64{{n.cpu, free.cpu, row.AllocCPU}, {n.mem, free.mem, row.AllocMem}} {
		if f[0] > 0 && f[0] > f[1] {
			fits = false
			if f[0] > f[2] {
				return result{kind: hopeless}
			}
		}
	}
	if fits {
		return result{kind: notNeeded}
	}
	k := st.lower(pod.Spec.Priority)
	if k == len(st.seats) {
		return result{kind: nobody}
	}
	for i := k; i < len(st.seats); i++ {
		free.cpu += st.seats[i].cpu
		free.mem += st.seats[i].mem
	}
	free.pods += int64(len(st.seats) - k)
	l.reserve(&free, n)
	if free.cpu < 0 || free.mem < 0 || free.pods < 0 {
		return result{kind: stillOut, fail: l.failWithout(n, st, k, nil, id)}
	}
	return l.reprieve(st, k, func(s *seat) bool {
		if s.cpu > free.cpu || s.mem > free.mem || free.pods < 1 {
			return false
		}
		free.cpu -= s.cpu
		free.mem -= s.mem
		free.pods--
		return true
	})
}

// code is the verdict on a node as it is.
func (l *lean) code(n *needs, pod *model.Pod, id cluster.NodeID) decision.Code {
	switch l.try(n, pod, id).kind {
	case absent, hopeless:
		return decision.Unresolvable
	case notNeeded:
		return decision.Fits
	}
	return decision.Unschedulable
}

// reserve takes out of what is free what the pod needs; what it does not ask for
// cannot run short.
func (l *lean) reserve(free *room, n *needs) {
	free.cpu = left(free.cpu, n.cpu)
	free.mem = left(free.mem, n.mem)
	free.pods--
	if !n.counted {
		free.pods = plenty
	}
}

func left(free, want int64) int64 {
	if want <= 0 {
		return plenty
	}
	return free - want
}

// reprieve lets the seats from k on stay where stays says so, those first whose leaving
// would go past a budget, and adds up what the others cost.
func (l *lean) reprieve(st *stack, k int, stays func(*seat) bool) result {
	c := cost{highest: math.MinInt32}
	if st.covers == nil {
		for i := k; i < len(st.seats); i++ {
			if !stays(&st.seats[i]) {
				l.drop(&c, &st.seats[i])
			}
		}
		return result{kind: helped, cost: c}
	}
	l.order, l.others = l.order[:0], l.others[:0]
	b := l.stacks.books
	for i := k; i < len(st.seats); i++ {
		if b.past(st, i) {
			l.order = append(l.order, int32(i))
		} else {
			l.others = append(l.others, int32(i))
		}
	}
	b.forget()
	past := len(l.order)
	l.order = append(l.order, l.others...)
	for at, i := range l.order {
		if stays(&st.seats[i]) {
			continue
		}
		if at < past {
			c.violations++
		}
		l.drop(&c, &st.seats[i])
	}
	return result{kind: helped, cost: c}
}

// drop makes the pod of a seat a victim.
func (l *lean) drop(c *cost, s *seat) {
	l.victims = append(l.victims, s.pod)
	c.victims++
	c.sum += int64(s.priority) + 1<<31
	switch {
	case s.priority > c.highest:
		c.highest, c.start = s.priority, s.start
	case s.priority == c.highest:
		c.start = min(c.start, s.start)
	}
}

// failWithout says why a node is out without its seats from k on, with those ahead.
func (l *lean) failWithout(n *needs, st *stack, k int, ahead []*model.Pod, id cluster.NodeID) placement.Fail {
	l.take(st, k, ahead, id)
	return n.Judge(l.stacks.state.Node(id), int64(k+len(ahead)), &l.used, l.ports)
}

// take adds up in used and ports what the seats before k and those ahead take. Of
// the ports of the others none is left, whoever has them, see portSet.
func (l *lean) take(st *stack, k int, ahead []*model.Pod, id cluster.NodeID) {
	l.used = model.Requests{Scalars: l.used.Scalars[:0]}
	l.ports = append(l.ports[:0], l.stacks.state.Node(id).Ports...)
	for i := range st.seats {
		if i < k {
			l.addUsed(st.seats[i].pod, 1)
		} else {
			l.ports.leave(st.seats[i].pod)
		}
	}
	for _, p := range ahead {
		l.addUsed(p, 1)
		l.ports.join(p)
	}
}

func (l *lean) addUsed(p *model.Pod, sign int64) {
	r := &p.Spec.Requests
	l.used.MilliCPU += sign * r.MilliCPU
	l.used.Memory += sign * r.Memory
	l.used.Ephemeral += sign * r.Ephemeral
next:
	for _, s := range r.Scalars {
		for i := range l.used.Scalars {
			if l.used.Scalars[i].Name == s.Name {
				l.used.Scalars[i].Amount += sign * s.Amount
				continue next
			}
		}
		l.used.Scalars = append(l.used.Scalars, model.Scalar{Name: s.Name, Amount: sign * s.Amount})
	}
}

// tryOdd is try where more counts than cpu, memory and the number of pods.
func (l *lean) tryOdd(n *needs, pod *model.Pod, id cluster.NodeID, st *stack) result {
	ahead := l.ahead[:0]
	for _, p := range st.ahead {
		if cluster.Ahead(p, pod) {
			ahead = append(ahead, p)
		}
	}
	l.ahead = ahead
	node := l.stacks.state.Node(id)
	pods := int64(len(st.seats) + len(ahead))
	l.take(st, len(st.seats), ahead, id)
	switch n.Code(n.Judge(node, pods, &l.used, l.ports)) {
	case decision.Fits:
		return result{kind: notNeeded}
	case decision.Unresolvable:
		return result{kind: hopeless}
	}
	k := st.lower(pod.Spec.Priority)
	if k == len(st.seats) {
		return result{kind: nobody}
	}
	if f := l.failWithout(n, st, k, ahead, id); f != 0 {
		return result{kind: stillOut, fail: f}
	}
	pods -= int64(len(st.seats) - k)
	return l.reprieve(st, k, func(s *seat) bool {
		l.addUsed(s.pod, 1)
		l.ports.join(s.pod)
		if n.Judge(node, pods+1, &l.used, l.ports) == 0 {
			pods++
			return true
		}
		l.addUsed(s.pod, -1)
		l.ports.leave(s.pod)
		return false
	})
}

// inOrder are the victims of the last try, on a node, the most important first, as
// they are now: not all that is written into a pod changes its seat. It holds until it is
// asked again.
func (l *lean) inOrder(id cluster.NodeID) []*model.Pod {
	out := append(l.sorted[:0], l.victims...)
	l.sorted = out
	pods := l.stacks.state.Node(id).Pods
	for i, v := range out {
		if at, ok := slices.BinarySearchFunc(pods, v, byUID); ok {
			out[i] = pods[at]
		}
	}
	slices.SortFunc(out, byImportance)
	return out
}

func byUID(a, b *model.Pod) int { return cmp.Compare(a.UID, b.UID) }
