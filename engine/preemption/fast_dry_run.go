package preemption

import (
	"cmp"
	"math"
	"slices"

	"github.com/berthproject/berth/engine/cluster"
	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/placement/fastpath"
)

// unlimited is an amount that no pod requests.
const unlimited = math.MaxInt64 / 4

// needs is what a pod requests if its placement depends on the node alone.
type needs struct {
	fastpath.NodeLocalPod
	pod      *model.Pod // any pod of the class
	amounts  model.Resources
	counted  bool
	ports    []model.HostPort
	simple   bool // it requests only cpu, memory and a pod slot
	cpu, mem int64
}

func needsOf(l fastpath.NodeLocalPod, pod *model.Pod) *needs {
	representative := *pod
	representative.UID, representative.NominatedNodeName = "", ""
	n := &needs{NodeLocalPod: l, pod: &representative}
	n.amounts, n.counted, n.ports = l.Demand()
	n.simple = len(n.ports)+len(n.amounts.Scalars) == 0 && n.amounts.Ephemeral <= 0
	n.cpu, n.mem = n.amounts.MilliCPU, n.amounts.Memory
	return n
}

// result is the result of a dry run on a node.
type result struct {
	kind resultKind
	fail fastpath.Failure // if kind is stillInfeasible
	cost cost             // if kind is fitsAfterEviction
}

type resultKind uint8

const (
	noSuchNode        resultKind = iota // the node does not exist
	fitsAfterEviction                   // evictions make the pod fit
	fitsAlready                         // the pod fits without evictions
	unresolvable                        // evictions cannot help
	noLowerPriority                     // the node has no pod of lower priority
	stillInfeasible                     // the pod does not fit even without them
)

// freeResources is what is free beside the preemptor and the pods that stay.
type freeResources struct{ cpu, mem, pods int64 }

// fastDryRun dry-runs nodes for pods whose placement depends on the node alone. Its fields are
// scratch space.
type fastDryRun struct {
	nodes     *nodeIndex
	order     []int32      // pods to reprieve, after the first split
	victims   []*model.Pod // of the last dry run, unordered
	sorted    []*model.Pod // scratch
	used      model.Resources
	ports     portSet
	others    []int32
	nominated []*model.Pod
}

// dryRun evaluates preemption on a node. The preemptor's own nomination does not count.
func (l *fastDryRun) dryRun(n *needs, pod *model.Pod, id cluster.NodeID) result {
	x := l.nodes.index
	row := &x.Rows[id]
	l.victims = l.victims[:0]
	if !row.Exists {
		return result{}
	}
	if n.Excluded(id) {
		return result{kind: unresolvable}
	}
	st := &l.nodes.byID[id]
	if !n.simple || len(st.nominated) > 0 {
		return l.dryRunGeneral(n, pod, id, st)
	}
	free := freeResources{row.AllocCPU - row.UsedCPU, row.AllocMem - row.UsedMem, int64(row.AllocPods - row.Pods)}
	fits := !n.counted || free.pods >= 1
	for _, f := range [2][3]int64{{n.cpu, free.cpu, row.AllocCPU}, {n.mem, free.mem, row.AllocMem}} {
		if f[0] > 0 && f[0] > f[1] {
			fits = false
			if f[0] > f[2] {
				return result{kind: unresolvable}
			}
		}
	}
	if fits {
		return result{kind: fitsAlready}
	}
	k := st.firstLower(pod.Spec.Priority)
	if k == len(st.pods) {
		return result{kind: noLowerPriority}
	}
	for i := k; i < len(st.pods); i++ {
		free.cpu += st.pods[i].cpu
		free.mem += st.pods[i].mem
	}
	free.pods += int64(len(st.pods) - k)
	l.reserve(&free, n)
	if free.cpu < 0 || free.mem < 0 || free.pods < 0 {
		return result{kind: stillInfeasible, fail: l.failReason(n, st, k, nil, id)}
	}
	return l.reprieve(st, k, func(s *podInfo) bool {
		if s.cpu > free.cpu || s.mem > free.mem || free.pods < 1 {
			return false
		}
		free.cpu -= s.cpu
		free.mem -= s.mem
		free.pods--
		return true
	})
}

// nodeCode returns the verdict on a node as it is.
func (l *fastDryRun) nodeCode(n *needs, pod *model.Pod, id cluster.NodeID) decision.Code {
	switch l.dryRun(n, pod, id).kind {
	case noSuchNode, unresolvable:
		return decision.UnschedulableAndUnresolvable
	case fitsAlready:
		return decision.Success
	}
	return decision.Unschedulable
}

// reserve subtracts the pod's requests from what is free. A resource that the pod does not request
// is unlimited.
func (l *fastDryRun) reserve(free *freeResources, n *needs) {
	free.cpu = remaining(free.cpu, n.cpu)
	free.mem = remaining(free.mem, n.mem)
	free.pods--
	if !n.counted {
		free.pods = unlimited
	}
}

func remaining(free, want int64) int64 {
	if want <= 0 {
		return unlimited
	}
	return free - want
}

// reprieve keeps the pods from k on for which fits returns true, trying first those whose
// eviction violates a budget, and sums the cost of the others.
func (l *fastDryRun) reprieve(st *podsOnNode, k int, fits func(*podInfo) bool) result {
	c := cost{highest: math.MinInt32}
	if st.budgets == nil {
		for i := k; i < len(st.pods); i++ {
			if !fits(&st.pods[i]) {
				l.addVictim(&c, &st.pods[i])
			}
		}
		return result{kind: fitsAfterEviction, cost: c}
	}
	l.order, l.others = l.order[:0], l.others[:0]
	b := l.nodes.ledger
	for i := k; i < len(st.pods); i++ {
		if b.violates(st, i) {
			l.order = append(l.order, int32(i))
		} else {
			l.others = append(l.others, int32(i))
		}
	}
	b.resetEvicted()
	violating := len(l.order)
	l.order = append(l.order, l.others...)
	for at, i := range l.order {
		if fits(&st.pods[i]) {
			continue
		}
		if at < violating {
			c.violations++
		}
		l.addVictim(&c, &st.pods[i])
	}
	return result{kind: fitsAfterEviction, cost: c}
}

// addVictim adds a victim to the cost.
func (l *fastDryRun) addVictim(c *cost, s *podInfo) {
	l.victims = append(l.victims, s.pod)
	c.victims++
	c.sum += int64(s.priority) + 1<<31
	switch {
	case s.priority > c.highest:
		c.highest, c.earliestStart = s.priority, s.start
	case s.priority == c.highest:
		c.earliestStart = min(c.earliestStart, s.start)
	}
}

// failReason returns why a node is infeasible without its pods from k on, given the nominated pods.
func (l *fastDryRun) failReason(n *needs, st *podsOnNode, k int, nominated []*model.Pod, id cluster.NodeID) fastpath.Failure {
	l.sumUsage(st, k, nominated, id)
	return n.Filter(l.nodes.state.Node(id), int64(k+len(nominated)), &l.used, l.ports)
}

// sumUsage sums what the pods before k and the nominated pods use. Host ports of the other pods are
// free, see portSet.
func (l *fastDryRun) sumUsage(st *podsOnNode, k int, nominated []*model.Pod, id cluster.NodeID) {
	l.used = model.Resources{Scalars: l.used.Scalars[:0]}
	l.ports = append(l.ports[:0], l.nodes.state.Node(id).Ports...)
	for i := range st.pods {
		if i < k {
			l.addUsed(st.pods[i].pod, 1)
		} else {
			l.ports.remove(st.pods[i].pod)
		}
	}
	for _, p := range nominated {
		l.addUsed(p, 1)
		l.ports.add(p)
	}
}

func (l *fastDryRun) addUsed(p *model.Pod, sign int64) {
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

// dryRunGeneral is dryRun for pods that request more than cpu, memory and a pod slot.
func (l *fastDryRun) dryRunGeneral(n *needs, pod *model.Pod, id cluster.NodeID, st *podsOnNode) result {
	nominated := l.nominated[:0]
	for _, p := range st.nominated {
		if cluster.NominationCounts(p, pod) {
			nominated = append(nominated, p)
		}
	}
	l.nominated = nominated
	node := l.nodes.state.Node(id)
	pods := int64(len(st.pods) + len(nominated))
	l.sumUsage(st, len(st.pods), nominated, id)
	switch n.Code(n.Filter(node, pods, &l.used, l.ports)) {
	case decision.Success:
		return result{kind: fitsAlready}
	case decision.UnschedulableAndUnresolvable:
		return result{kind: unresolvable}
	}
	k := st.firstLower(pod.Spec.Priority)
	if k == len(st.pods) {
		return result{kind: noLowerPriority}
	}
	if f := l.failReason(n, st, k, nominated, id); f != 0 {
		return result{kind: stillInfeasible, fail: f}
	}
	pods -= int64(len(st.pods) - k)
	return l.reprieve(st, k, func(s *podInfo) bool {
		l.addUsed(s.pod, 1)
		l.ports.add(s.pod)
		if n.Filter(node, pods+1, &l.used, l.ports) == 0 {
			pods++
			return true
		}
		l.addUsed(s.pod, -1)
		l.ports.remove(s.pod)
		return false
	})
}

// sortedVictims returns the victims of the last dry run by descending importance, as they are now:
// not every change of a pod changes its podInfo. The result is valid until the next call.
func (l *fastDryRun) sortedVictims(id cluster.NodeID) []*model.Pod {
	l.sorted = append(l.sorted[:0], l.victims...)
	out := l.sorted
	pods := l.nodes.state.Node(id).Pods
	for i, v := range out {
		if at, ok := slices.BinarySearchFunc(pods, v, compareUID); ok {
			out[i] = pods[at]
		}
	}
	slices.SortFunc(out, compareImportance)
	return out
}

func compareUID(a, b *model.Pod) int { return cmp.Compare(a.UID, b.UID) }
