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

// unlimited is a free amount that no request exceeds.
const unlimited = math.MaxInt64 / 4

// podDemand is what a pod requests if its placement depends on the node alone.
type podDemand struct {
	fastpath.NodeLocalPod
	pod      *model.Pod // a pod of the equivalence class, without UID and nomination
	amounts  model.Resources
	counted  bool // the number of pods is checked
	ports    []model.HostPort
	simple   bool // the pod requests only cpu, memory and a pod slot
	cpu, mem int64
}

func demandOf(local fastpath.NodeLocalPod, pod *model.Pod) *podDemand {
	representative := *pod
	representative.UID, representative.NominatedNodeName = "", ""
	n := &podDemand{NodeLocalPod: local, pod: &representative}
	n.amounts, n.counted, n.ports = local.Demand()
	n.simple = len(n.ports)+len(n.amounts.Scalars) == 0 && n.amounts.Ephemeral <= 0
	n.cpu, n.mem = n.amounts.MilliCPU, n.amounts.Memory
	return n
}

// result is the result of a dry run on a node.
type result struct {
	kind    resultKind
	failure fastpath.Failure // if kind is stillInfeasible
	cost    cost             // if kind is fitsAfterEviction
}

type resultKind uint8

const (
	noSuchNode        resultKind = iota // the node does not exist
	fitsAfterEviction                   // evictions make the pod fit
	fitsAlready                         // the pod fits without evictions
	unresolvable                        // evictions cannot help
	noLowerPriority                     // the node has no pod of lower priority
	stillInfeasible                     // the pod does not fit even without the pods of lower priority
)

// freeResources are the millicores, bytes and pod slots of a node that neither the preemptor nor the
// remaining pods use.
type freeResources struct{ cpu, mem, pods int64 }

// fastDryRun dry-runs nodes for pods whose placement depends on the node alone. Its fields are
// scratch space.
type fastDryRun struct {
	nodes        *nodeIndex
	order        []int32      // pods to reprieve; those whose eviction violates a budget are first
	victims      []*model.Pod // of the last dry run, unordered
	sorted       []*model.Pod // scratch
	used         model.Resources
	ports        portSet
	nonViolating []int32
	nominated    []*model.Pod
}

// dryRun evaluates preemption on a node. The preemptor's own nomination does not count.
func (d *fastDryRun) dryRun(n *podDemand, pod *model.Pod, id cluster.NodeID) result {
	x := d.nodes.index
	row := &x.Rows[id]
	d.victims = d.victims[:0]
	if !row.Exists {
		return result{}
	}
	if n.Excluded(id) {
		return result{kind: unresolvable}
	}
	onNode := &d.nodes.byID[id]
	if !n.simple || len(onNode.nominated) > 0 {
		return d.dryRunGeneral(n, pod, id, onNode)
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
	k := onNode.firstLower(pod.Spec.Priority)
	if k == len(onNode.pods) {
		return result{kind: noLowerPriority}
	}
	for i := k; i < len(onNode.pods); i++ {
		free.cpu += onNode.pods[i].cpu
		free.mem += onNode.pods[i].mem
	}
	free.pods += int64(len(onNode.pods) - k)
	d.reserve(&free, n)
	if free.cpu < 0 || free.mem < 0 || free.pods < 0 {
		return result{kind: stillInfeasible, failure: d.failReason(n, onNode, k, nil, id)}
	}
	return d.reprieve(onNode, k, func(s *podInfo) bool {
		if s.cpu > free.cpu || s.mem > free.mem || free.pods < 1 {
			return false
		}
		free.cpu -= s.cpu
		free.mem -= s.mem
		free.pods--
		return true
	})
}

// nodeCode returns the code of the verdict on a node without evictions.
func (d *fastDryRun) nodeCode(n *podDemand, pod *model.Pod, id cluster.NodeID) decision.Code {
	switch d.dryRun(n, pod, id).kind {
	case noSuchNode, unresolvable:
		return decision.UnschedulableAndUnresolvable
	case fitsAlready:
		return decision.Success
	}
	return decision.Unschedulable
}

// reserve subtracts the pod's requests from the free resources. A resource that the pod does not request
// is unlimited.
func (d *fastDryRun) reserve(free *freeResources, n *podDemand) {
	free.cpu = freeAfter(free.cpu, n.cpu)
	free.mem = freeAfter(free.mem, n.mem)
	free.pods--
	if !n.counted {
		free.pods = unlimited
	}
}

// freeAfter returns the free amount minus the requested one, or unlimited.
func freeAfter(free, requested int64) int64 {
	if requested <= 0 {
		return unlimited
	}
	return free - requested
}

// reprieve keeps the pods from k on for which fits returns true, and sums the cost of the others. It first tries the
// pods whose eviction violates a budget.
func (d *fastDryRun) reprieve(onNode *podsOnNode, k int, fits func(*podInfo) bool) result {
	c := cost{highest: math.MinInt32}
	if onNode.budgets == nil {
		for i := k; i < len(onNode.pods); i++ {
			if !fits(&onNode.pods[i]) {
				d.addVictim(&c, &onNode.pods[i])
			}
		}
		return result{kind: fitsAfterEviction, cost: c}
	}
	d.order, d.nonViolating = d.order[:0], d.nonViolating[:0]
	b := d.nodes.ledger
	for i := k; i < len(onNode.pods); i++ {
		if b.violates(onNode, i) {
			d.order = append(d.order, int32(i))
		} else {
			d.nonViolating = append(d.nonViolating, int32(i))
		}
	}
	b.resetEvicted()
	violating := len(d.order)
	d.order = append(d.order, d.nonViolating...)
	for k, i := range d.order {
		if fits(&onNode.pods[i]) {
			continue
		}
		if k < violating {
			c.violations++
		}
		d.addVictim(&c, &onNode.pods[i])
	}
	return result{kind: fitsAfterEviction, cost: c}
}

func (d *fastDryRun) addVictim(c *cost, s *podInfo) {
	d.victims = append(d.victims, s.pod)
	c.victims++
	c.sum += int64(s.priority) + 1<<31
	switch {
	case s.priority > c.highest:
		c.highest, c.earliestStart = s.priority, s.start
	case s.priority == c.highest:
		c.earliestStart = min(c.earliestStart, s.start)
	}
}

// failReason returns why a node is infeasible without its pods from k on, given the nominated pods, or 0 if it
// is feasible.
func (d *fastDryRun) failReason(n *podDemand, onNode *podsOnNode, k int, nominated []*model.Pod, id cluster.NodeID) fastpath.Failure {
	d.sumUsage(onNode, k, nominated, id)
	return n.Filter(d.nodes.state.Node(id), int64(k+len(nominated)), &d.used, d.ports)
}

// sumUsage sums what the pods before k and the nominated pods use. Host ports of the other pods are
// free, see portSet.
func (d *fastDryRun) sumUsage(onNode *podsOnNode, k int, nominated []*model.Pod, id cluster.NodeID) {
	d.used = model.Resources{Scalars: d.used.Scalars[:0]}
	d.ports = append(d.ports[:0], d.nodes.state.Node(id).Ports...)
	for i := range onNode.pods {
		if i < k {
			d.addUsed(onNode.pods[i].pod, 1)
		} else {
			d.ports.remove(onNode.pods[i].pod)
		}
	}
	for _, p := range nominated {
		d.addUsed(p, 1)
		d.ports.add(p)
	}
}

func (d *fastDryRun) addUsed(p *model.Pod, sign int64) {
	r := &p.Spec.Requests
	d.used.MilliCPU += sign * r.MilliCPU
	d.used.Memory += sign * r.Memory
	d.used.Ephemeral += sign * r.Ephemeral
next:
	for _, s := range r.Scalars {
		for i := range d.used.Scalars {
			if d.used.Scalars[i].Name == s.Name {
				d.used.Scalars[i].Amount += sign * s.Amount
				continue next
			}
		}
		d.used.Scalars = append(d.used.Scalars, model.Scalar{Name: s.Name, Amount: sign * s.Amount})
	}
}

// dryRunGeneral is dryRun for pods that request more than cpu, memory and a pod slot, and for nodes
// with nominated pods.
func (d *fastDryRun) dryRunGeneral(n *podDemand, pod *model.Pod, id cluster.NodeID, onNode *podsOnNode) result {
	nominated := d.nominated[:0]
	for _, p := range onNode.nominated {
		if cluster.NominationCounts(p, pod) {
			nominated = append(nominated, p)
		}
	}
	d.nominated = nominated
	node := d.nodes.state.Node(id)
	pods := int64(len(onNode.pods) + len(nominated))
	d.sumUsage(onNode, len(onNode.pods), nominated, id)
	switch n.Code(n.Filter(node, pods, &d.used, d.ports)) {
	case decision.Success:
		return result{kind: fitsAlready}
	case decision.UnschedulableAndUnresolvable:
		return result{kind: unresolvable}
	}
	k := onNode.firstLower(pod.Spec.Priority)
	if k == len(onNode.pods) {
		return result{kind: noLowerPriority}
	}
	if f := d.failReason(n, onNode, k, nominated, id); f != 0 {
		return result{kind: stillInfeasible, failure: f}
	}
	pods -= int64(len(onNode.pods) - k)
	return d.reprieve(onNode, k, func(s *podInfo) bool {
		d.addUsed(s.pod, 1)
		d.ports.add(s.pod)
		if n.Filter(node, pods+1, &d.used, d.ports) == 0 {
			pods++
			return true
		}
		d.addUsed(s.pod, -1)
		d.ports.remove(s.pod)
		return false
	})
}

// sortedVictims returns the victims of the last dry run by descending importance. It reads the pods
// from the cluster state, because podInfo may refer to an older version of a pod. The result is valid
// until the next call.
func (d *fastDryRun) sortedVictims(id cluster.NodeID) []*model.Pod {
	d.sorted = append(d.sorted[:0], d.victims...)
	out := d.sorted
	pods := d.nodes.state.Node(id).Pods
	for i, v := range out {
		if j, ok := slices.BinarySearchFunc(pods, v, compareUID); ok {
			out[i] = pods[j]
		}
	}
	slices.SortFunc(out, compareImportance)
	return out
}

func compareUID(a, b *model.Pod) int { return cmp.Compare(a.UID, b.UID) }
