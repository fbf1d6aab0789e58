package cluster

import (
	"math"
	"slices"

	"github.com/berthproject/berth/engine/model"
)

// Index maintains what the fast path of placement reads: rows of numbers, topologies,
// values derived from nodes, domain counters and the change log. Its State updates it.
// Several engines may share it. Its slices must not be changed.
type Index struct {
	state *State
	changeLog
	nodeRing

	// Rows, Ephemeral and NameHashes hold the numbers of each node, by NodeID.
	Rows       []Row
	Ephemeral  []Ephemeral
	NameHashes []uint64 // NodeInfo.NameHash

	thresholds      thresholds
	taints          taintSets
	topologies      map[string]*Topology
	perNode         *Topology // every node is a domain
	nodeValues      map[string]*NodeValues
	counters        map[string]*DomainCounter
	counterList     []*DomainCounter // in order of creation
	byEligible      map[eligibleKey]*DomainCounter
	terms           map[string]*Term
	counterRegistry selectorRegistry[*DomainCounter]
	termRegistry    selectorRegistry[*Term]
	specs           map[*model.PodSpec]*specTerms
	classes         podClasses
	// readsNamespaces is set if a matcher reads namespace labels.
	readsNamespaces bool
	bytes           int // approximate size of the counters
	// Epoch changes when everything obtained from the Index becomes invalid.
	Epoch uint64
	// groupVersions counts the changes of spread groups by namespace.
	groupVersions map[string]uint64
}

// Row holds the numbers of a node that the fit filter and its scores read for every node: allocatable amounts, and the
// sums of the pods as in NodeInfo. CPU is in millicores and memory in bytes. A Row fills one cache line.
type Row struct {
	AllocCPU, AllocMem     int64
	UsedCPU, UsedMem       int64
	ScoringCPU, ScoringMem int64
	AllocPods, Pods        int32
	// Balance is how evenly cpu and memory are used. It is 100 times one minus half the difference
	// of the used fractions, truncated, and 100 if one resource is missing.
	Balance int32
	Exists  bool // the NodeID is in use
}

// Ephemeral is the ephemeral storage of a node in bytes. Few pods request it.
type Ephemeral struct{ Alloc, Used int64 }

// Index returns the index of the State, creating it if necessary.
func (s *State) Index() *Index {
	if s.index != nil {
		return s.index
	}
	x := &Index{
		state: s, topologies: map[string]*Topology{}, nodeValues: map[string]*NodeValues{},
		counters: map[string]*DomainCounter{}, byEligible: map[eligibleKey]*DomainCounter{}, terms: map[string]*Term{},
		specs: map[*model.PodSpec]*specTerms{}, groupVersions: map[string]uint64{},
	}
	x.taints.ids = map[string]int32{}
	x.classes.minDropAt = 2048
	x.classes.init()
	x.thresholds = thresholds{fineDomains: 64, fineNodes: 128, manyDomains: 192}
	x.minEntries = 4096
	x.perNode = newTopology("", &x.thresholds)
	s.index = x
	for _, id := range s.NodeIDs() {
		x.nodeAdded(s.nodes[id])
	}
	x.countAllPods()
	return x
}

// countAllPods counts all pods for the first time. It starts with their affinity terms,
// which determine the labels that distinguish pod classes.
func (x *Index) countAllPods() {
	for _, ns := range x.state.spreadGroups.keys() {
		x.trackGroupSelectors(ns)
	}
	for _, n := range x.state.nodes {
		if n == nil {
			continue
		}
		for _, p := range n.Pods {
			if hasTerms(p.Spec) && x.specs[p.Spec] == nil {
				x.specs[p.Spec] = &specTerms{terms: x.termsOf(p.Spec)}
			}
		}
	}
	x.classes.filled = true
	for _, n := range x.state.nodes {
		if n == nil {
			continue
		}
		for _, p := range n.Pods {
			x.countPod(n.ID, p, 1)
		}
	}
}

// State returns the state of the index.
func (x *Index) State() *State { return x.state }

// resourceBalance computes Row.Balance with the floating-point operations of the
// NodeResourcesBalancedAllocation score in their order, so that results are equal.
func resourceBalance(r *Row) int32 {
	if r.AllocCPU == 0 || r.AllocMem == 0 {
		return 100
	}
	cpu := min(float64(r.UsedCPU)/float64(r.AllocCPU), 1)
	mem := min(float64(r.UsedMem)/float64(r.AllocMem), 1)
	return int32(float64((1 - math.Abs((cpu-mem)/2)) * 100))
}

// refreshRow updates the row of a node and adds the node to the change log. static means that the Node object may have
// changed, not only the pods on it.
func (x *Index) refreshRow(id NodeID, static bool) {
	n := x.state.nodes[id]
	r := &x.Rows[id]
	r.UsedCPU, r.UsedMem = n.Used.MilliCPU, n.Used.Memory
	r.ScoringCPU, r.ScoringMem = n.Scoring.MilliCPU, n.Scoring.Memory
	r.Pods = int32(len(n.Pods))
	x.Ephemeral[id].Used = n.Used.Ephemeral
	if static {
		a := &n.Model.Allocatable
		r.Exists, x.NameHashes[id] = true, n.NameHash
		r.AllocCPU, r.AllocMem = a.MilliCPU, a.Memory
		r.AllocPods = int32(max(-1, min(n.Model.AllocatablePods, 1<<31-1)))
		x.Ephemeral[id].Alloc = a.Ephemeral
	}
	r.Balance = resourceBalance(r)
	x.log(id, static)
}

func (x *Index) nodeAdded(n *NodeInfo) {
	if x == nil {
		return
	}
	for len(x.Rows) <= int(n.ID) {
		x.Rows = append(x.Rows, Row{})
		x.Ephemeral = append(x.Ephemeral, Ephemeral{})
		x.NameHashes = append(x.NameHashes, 0)
		x.taints.byNode = append(x.taints.byNode, 0)
	}
	x.changeLog.grow(len(x.Rows))
	x.nodeRing.add(n.ID)
	x.indexNode(n)
	x.refreshRow(n.ID, true)
}

func (x *Index) nodeRemoved(n *NodeInfo) {
	if x == nil {
		return
	}
	x.unindexNode(n.ID)
	x.Rows[n.ID], x.Ephemeral[n.ID] = Row{}, Ephemeral{}
	x.nodeRing.remove(n.ID)
	x.log(n.ID, true)
}

// nodeChanged updates the index for a changed node. If more than the allocatable resources
// changed, it counts the node's pods again, because their domains and eligibility may change.
func (x *Index) nodeChanged(n *NodeInfo, before *model.Node) {
	if x == nil || equalForPlacement(n.Model, before) {
		return
	}
	if equalDescription(n.Model, before) {
		x.refreshRow(n.ID, true)
		return
	}
	for _, p := range n.Pods {
		x.countPod(n.ID, p, -1)
	}
	x.unindexNode(n.ID)
	x.indexNode(n)
	for _, p := range n.Pods {
		x.countPod(n.ID, p, 1)
	}
	x.refreshRow(n.ID, true)
}

// indexNode adds a node to topologies and derived values.
func (x *Index) indexNode(n *NodeInfo) {
	x.taints.set(n)
	x.perNode.set(n.ID, n.Model.Name)
	for _, t := range x.topologies {
		if t.set(n.ID, domainValue(n.Model, t.Key)) {
			x.Epoch++
		}
	}
	for _, d := range x.nodeValues {
		d.set(n)
	}
	for _, c := range x.counterList {
		c.updateEligible(n.ID, 1)
	}
}

// unindexNode reverts indexNode. No pod of the node may be counted.
func (x *Index) unindexNode(id NodeID) {
	for _, c := range x.counterList {
		c.updateEligible(id, -1)
	}
	for _, t := range x.topologies {
		if t.set(id, "") {
			x.Epoch++
		}
	}
	x.perNode.set(id, "")
	for _, d := range x.nodeValues {
		d.put(id, 0)
	}
}

// equalForPlacement reports whether two versions of a node are equal for placement. Most
// node updates are heartbeats.
func equalForPlacement(a, b *model.Node) bool {
	return a.AllocatablePods == b.AllocatablePods && a.Allocatable.MilliCPU == b.Allocatable.MilliCPU &&
		a.Allocatable.Memory == b.Allocatable.Memory && a.Allocatable.Ephemeral == b.Allocatable.Ephemeral &&
		slices.Equal(a.Allocatable.Scalars, b.Allocatable.Scalars) && equalDescription(a, b)
}

func equalDescription(a, b *model.Node) bool {
	return a.Unschedulable == b.Unschedulable && slices.Equal(a.Labels, b.Labels) &&
		slices.Equal(a.Taints, b.Taints) && slices.EqualFunc(a.Images, b.Images, equalImage) &&
		slices.Equal(a.Features, b.Features)
}

func (x *Index) podAdded(n *NodeInfo, p *model.Pod) {
	if x == nil {
		return
	}
	x.countPod(n.ID, p, 1)
	x.refreshRow(n.ID, false)
}

func (x *Index) podRemoved(n *NodeInfo, p *model.Pod) {
	if x == nil {
		return
	}
	x.countPod(n.ID, p, -1)
	x.refreshRow(n.ID, false)
}

// countPod adds a pod to the counters that match it and to the counters of its affinity terms
// (sign 1), or removes it (sign -1).
func (x *Index) countPod(id NodeID, p *model.Pod, sign int32) {
	cl := x.Class(p.Namespace, p.Labels)
	cl.count(id, p.Deleting, sign)
	for _, c := range cl.counters {
		if !p.Deleting || !c.Match.SkipDeleting {
			c.addOnNode(id, sign)
		}
	}
	if hasTerms(p.Spec) {
		x.countTerms(id, p.Spec, sign)
	}
}
