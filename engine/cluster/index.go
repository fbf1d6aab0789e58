package cluster

import (
	"math"
	"slices"

	"github.com/berthproject/berth/engine/model"
)

// Index is what only the fast path of placement reads: rows of numbers, label
// columns, values derived of nodes, counters by topology domain, and the log of
// changed nodes. It is kept up to date by the State it belongs to and may be
// shared by several engines. Its slices by NodeID must not be changed.
type Index struct {
	state *State
	changeLog
	nodeRing

	// The numbers of the nodes, by NodeID.
	Rows       []Row
	Ephemeral  []Ephemeral
	NameHashes []uint64 // NodeInfo.Key

	thresholds      thresholds
	taints          taintSets
	topologies      map[string]*Topology
	perNode         *Topology // every node a domain of its own
	nodeValues      map[string]*NodeValues
	counters        map[string]*DomainCounter
	counterList     []*DomainCounter // those of counters, oldest first
	byEligible      map[eligibleKey]*DomainCounter
	terms           map[string]*Term
	counterRegistry selectorRegistry[*DomainCounter]
	termRegistry    selectorRegistry[*Term]
	specs           map[*model.PodSpec]*specTerms
	classes         podClasses
	// readsNamespaces: some matcher reads the labels of namespaces.
	readsNamespaces bool
	bytes           int // that counters take
	// Epoch changes when everything that was got from the Index has become void.
	Epoch uint64
	// groupVersions counts the changes of a namespace's groups.
	groupVersions map[string]uint64
}

// Row is the numbers of a node that fit and its scores read at every look; it
// fills one line of a processor's cache.
type Row struct {
	AllocCPU, AllocMem     int64
	UsedCPU, UsedMem       int64
	ScoringCPU, ScoringMem int64
	AllocPods, Pods        int32
	// Balance is how evenly cpu and memory are used: 100 times one minus half the
	// difference of their fractions (1 at most), truncated; 100 where one is missing.
	Balance int32
	Live    bool
}

// Ephemeral is a node's ephemeral storage, which few pods ask for.
type Ephemeral struct{ Alloc, Used int64 }

// Index returns the State's index, making it when there is none.
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
	x.keep = 4096
	x.perNode = newTopology("", &x.thresholds)
	s.index = x
	for _, id := range s.NodeIDs() {
		x.nodeAdded(s.nodes[id])
	}
	x.countAllPods()
	return x
}

// countAllPods counts all pods, none being counted yet. Their terms come first, as
// these say which labels tell classes apart.
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

// State is the state that the index belongs to.
func (x *Index) State() *State { return x.state }

// resourceBalance computes Row.Even with the operations of the balance score, in their
// order, so that the same number comes out.
func resourceBalance(r *Row) int32 {
	if r.AllocCPU == 0 || r.AllocMem == 0 {
		return 100
	}
	cpu := min(float64(r.UsedCPU)/float64(r.AllocCPU), 1)
	mem := min(float64(r.UsedMem)/float64(r.AllocMem), 1)
	return int32(float64((1 - math.Abs((cpu-mem)/2)) * 100))
}

// refreshRow writes a node's numbers anew and logs it.
func (x *Index) refreshRow(id NodeID, static bool) {
	n := x.state.nodes[id]
	r := &x.Rows[id]
	r.UsedCPU, r.UsedMem = n.Used.MilliCPU, n.Used.Memory
	r.ScoringCPU, r.ScoringMem = n.Scoring.MilliCPU, n.Scoring.Memory
	r.Pods = int32(len(n.Pods))
	x.Ephemeral[id].Used = n.Used.Ephemeral
	if static {
		a := &n.Model.Allocatable
		r.Live, x.NameHashes[id] = true, n.NameHash
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
		x.taints.of = append(x.taints.of, 0)
	}
	x.changeLog.grow(len(x.Rows))
	x.nodeRing.added(n.ID)
	x.indexNode(n)
	x.refreshRow(n.ID, true)
}

func (x *Index) nodeRemoved(n *NodeInfo) {
	if x == nil {
		return
	}
	x.unindexNode(n.ID)
	x.Rows[n.ID], x.Ephemeral[n.ID] = Row{}, Ephemeral{}
	x.nodeRing.removed(n.ID)
	x.log(n.ID, true)
}

// nodeChanged takes notice of a node's new model. What is static is described
// anew, with all pods of the node taken out of the counters meanwhile, as
// domains and eligibility may change under them.
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

// indexNode enters a node into all that is derived of its model.
func (x *Index) indexNode(n *NodeInfo) {
	x.taints.set(n)
	x.perNode.set(n.ID, n.Model.Name)
	for _, c := range x.topologies {
		x.Epoch += c.set(n.ID, domainValue(n.Model, c.Key))
	}
	for _, d := range x.nodeValues {
		d.set(n)
	}
	for _, c := range x.counterList {
		c.updateEligible(n.ID, 1)
	}
}

// unindexNode undoes describe. No pod may be counted on the node any more.
func (x *Index) unindexNode(id NodeID) {
	for _, c := range x.counterList {
		c.updateEligible(id, -1)
	}
	for _, c := range x.topologies {
		x.Epoch += c.set(id, "")
	}
	x.perNode.set(id, "")
	for _, d := range x.nodeValues {
		d.put(id, 0)
	}
}

// equalForPlacement says whether two models of a node are the same to placement; most
// updates of nodes are heartbeats.
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

// countPod adds a pod to the counters that it matches and to those of its own
// terms, or takes it out.
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
