package bench

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/berthproject/berth/engine/cluster"
	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/descheduling"
	"github.com/berthproject/berth/engine/descheduling/planning"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/placement/fastpath"
	"github.com/berthproject/berth/engine/placement/framework"
	"github.com/berthproject/berth/internal/conversion"
	"github.com/berthproject/berth/internal/testkit"
	"github.com/berthproject/berth/load"
)

// packingCluster is OpenB's cluster while it is packed.
type packingCluster struct {
	in      *conversion.Converter
	nodes   []*corev1.Node
	state   *cluster.State
	packer  *framework.Profile
	engine  *fastpath.Engine
	pods    map[string]*descheduling.Pod // by uid, those that are bound
	pending []*descheduling.Pod
	late    map[string]bool // controllers whose pods found no place when the cluster was filled
	result  packingResult
	dying   []string // uids of pods that were evicted and are still there
}

// packingResult is what packing came to. Emptied are nodes that have none of the pods left that the cluster was filled with;
// Taken of these have pods by now that had waited for such a node.
type packingResult struct {
	Rounds, Before, Emptied, Taken, Evicted, Returned, Pending int
}

// mostAllocated is the profile of a scheduler that packs: nothing in it prefers empty nodes.
func mostAllocated(t *testing.T) *framework.Profile {
	c := framework.DefaultConfig()
	c.Name, c.Fit.Strategy = "packer", framework.MostAllocated
	c.Fit.Resources = append(c.Fit.Resources, framework.ResourceWeight{Name: string(load.GPU), Weight: 1})
	c.Score = []framework.WeightedPlugin{{Plugin: decision.TaintToleration, Weight: 3}, {Plugin: decision.NodeAffinity, Weight: 2}, {Plugin: decision.NodeResourcesFit, Weight: 1}}
	p, err := framework.NewProfile(c)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// fill places pods of the trace in a random order, as kube-scheduler's default profile does: spread.
func fill(t *testing.T, nodes []*corev1.Node, pods []*corev1.Pod, seed uint64) *packingCluster {
	y := &packingCluster{in: conversion.New(), nodes: nodes, state: cluster.New(), packer: mostAllocated(t), pods: map[string]*descheduling.Pod{}, late: map[string]bool{}}
	for _, n := range nodes {
		y.state.UpsertNode(y.in.DeschedulingNode(n).Node)
	}
	c := framework.DefaultConfig()
	c.Name = "packer" // these pods' scheduler, before it packed
	spread, err := framework.NewProfile(c)
	if err != nil {
		t.Fatal(err)
	}
	engine := fastpath.NewEngine(y.state, spread, seed)
	for _, i := range rand.New(rand.NewPCG(seed, 0)).Perm(len(pods)) {
		p := y.in.DeschedulingPod(pods[i])
		if !y.place(engine, p) {
			y.pending, y.late[p.Owner.UID] = append(y.pending, p), true
		}
	}
	empty, _ := y.countEmpty()
	y.result.Before = len(nodes) - empty
	return y
}

// fork is the yard once more, to be packed by a scheduler that packs.
func (y *packingCluster) fork() *packingCluster {
	c := *y
	c.state, c.pods, c.pending = y.state.Fork(), maps.Clone(y.pods), slices.Clone(y.pending)
	c.engine = fastpath.NewEngine(c.state, c.packer, 1)
	return &c
}

// place binds a pod where an engine says; false: it fits nowhere.
func (y *packingCluster) place(e *fastpath.Engine, p *descheduling.Pod) bool {
	var s decision.Summary
	if e.Decide(p.Pod, &s); s.Outcome != decision.Scheduled {
		return false
	}
	y.bind(p, s.Choice)
	return true
}

func (y *packingCluster) bind(p *descheduling.Pod, node string) {
	bound := *p.Pod
	bound.NodeName, bound.Phase = node, model.Running
	y.pods[bound.UID] = &descheduling.Pod{Pod: &bound, Details: p.Details}
	y.state.UpsertPod(&bound)
}

// evict takes a pod off its node and returns its replacement.
func (y *packingCluster) evict(p *descheduling.Pod) *descheduling.Pod {
	y.state.RemovePod(p.UID)
	delete(y.pods, p.UID)
	y.result.Evicted++
	next := *p.Pod
	next.UID, next.NodeName, next.Phase = fmt.Sprintf("%s-%d", p.Owner.UID, y.result.Evicted), "", model.Pending
	return &descheduling.Pod{Pod: &next, Details: p.Details}
}

// countEmpty are the nodes without pods but for late ones, and how many of them have some.
func (y *packingCluster) countEmpty() (n, taken int) {
	for _, id := range y.state.NodeIDs() {
		pods := y.state.Node(id).Pods
		if slices.ContainsFunc(pods, func(p *model.Pod) bool { return !y.late[p.Owner.UID] }) {
			continue
		}
		if n++; len(pods) > 0 {
			taken++
		}
	}
	return n, taken
}

func (y *packingCluster) snapshot() *descheduling.Snapshot {
	s := &descheduling.Snapshot{Now: time.Unix(0, 0), Namespaces: map[string]model.Labels{}, Priorities: map[string]int32{}, ClaimStorageClasses: map[string]string{}}
	var nodes []*descheduling.Node
	for _, n := range y.nodes {
		nodes = append(nodes, y.in.DeschedulingNode(n))
	}
	var pods []*descheduling.Pod
	for _, id := range y.state.NodeIDs() {
		for _, p := range y.state.Node(id).Pods {
			pods = append(pods, y.pods[p.UID])
		}
	}
	s.SetNodesAndPods(nodes, pods)
	return s
}

// evictingMover is compatible mode: the scheduler places each replacement at once. The victims take their time to
// stop, longer than a round, so that their room is not free before it is over.
type evictingMover struct{ *packingCluster }

func (evictingMover) ChoosesNodes() bool { return false }

func (evictingMover) Checkpoint() (func(), bool) { return nil, false }

func (y evictingMover) Move(_, _ string, c *descheduling.Candidate) (*descheduling.Node, bool) {
	next := y.evict(c.Pod)
	dying := *c.Pod.Pod
	dying.Deleting = true
	y.state.UpsertPod(&dying)
	y.dying = append(y.dying, dying.UID)
	if !y.place(y.engine, next) {
		y.pending = append(y.pending, next)
	} else if y.pods[next.UID].NodeName == c.Node.Name {
		y.result.Returned++
	}
	return nil, true
}

// round makes one round of at most so many evictions and says how many there were.
func (y *packingCluster) round(policy descheduling.Policy, planned bool, most int) int {
	before, snapshot := y.result.Evicted, y.snapshot()
	policy.Limits.Total = &most
	if !planned {
		descheduling.RunPolicy(snapshot, &policy, evictingMover{y})
		for _, uid := range y.dying {
			y.state.RemovePod(uid)
		}
		y.dying = nil
		return y.result.Evicted - before
	}
	p := planning.New(snapshot, y.state, planning.Options{Now: snapshot.Now, Profiles: map[string]*framework.Profile{"packer": y.packer}})
	descheduling.RunPolicy(snapshot, &policy, p)
	for _, m := range p.Plan().Moves {
		y.bind(y.evict(y.pods[m.Pod.UID]), m.To)
	}
	return y.result.Evicted - before
}

// pack makes rounds until one evicts nobody, ten at most, with so many evictions at most.
func (y *packingCluster) pack(policy descheduling.Policy, planned bool, most int) packingResult {
	for y.result.Rounds < 10 {
		y.result.Rounds++
		if y.round(policy, planned, most-y.result.Evicted) == 0 {
			break
		}
		waiting := y.pending
		y.pending = nil
		for _, p := range waiting {
			if !y.place(y.engine, p) {
				y.pending = append(y.pending, p)
			}
		}
	}
	out := y.result
	empty, taken := y.countEmpty()
	out.Emptied, out.Taken, out.Pending = out.Before-(len(y.nodes)-empty), taken, len(y.pending)
	return out
}

// openB reads the trace; its pods get a controller each, and the scheduler that packs.
func openB(t *testing.T) (nodes []*corev1.Node, pods []*corev1.Pod) {
	dir := os.Getenv("BERTH_OPENB")
	if dir == "" {
		testkit.SkipOrFail(t, "the OpenB data set", "BERTH_OPENB names no directory with openb_node_list_all_node.csv and openb_pod_list_default.csv")
	}
	nodes, err := load.ReadNodes(filepath.Join(dir, "openb_node_list_all_node.csv"))
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range nodes {
		n.Status.Allocatable = n.Status.Capacity.DeepCopy()
		n.Status.Allocatable[corev1.ResourcePods] = *resource.NewQuantity(110, resource.DecimalSI)
		n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	}
	if pods, err = load.ReadPods(filepath.Join(dir, "openb_pod_list_default.csv"), 0); err != nil {
		t.Fatal(err)
	}
	for _, p := range pods {
		controller := true
		p.Namespace, p.UID, p.Spec.SchedulerName = "openb", types.UID("uid-"+p.Name), "packer"
		p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: p.Name, UID: types.UID("rs-" + p.Name), Controller: &controller}}
	}
	return nodes, pods
}

// bounds are those of whoever empties no other nodes than HighNodeUtilization may: how many evictions so many nodes take
// at least, if there are as many, and how many nodes so many evictions empty at most. Each pod of an emptied node has
// to go once, and a node above the threshold loses none, so that no other comes below it.
func (y *packingCluster) bounds(percent float64, nodes, evictions int) (least, most int) {
	var sizes []int
	for _, n := range y.snapshot().Nodes {
		if len(n.Pods) > 0 && belowThreshold(n, percent) {
			sizes = append(sizes, len(n.Pods))
		}
	}
	slices.Sort(sizes)
	for i, n := range sizes {
		if i < nodes {
			least += n
		}
		if evictions -= n; evictions >= 0 {
			most++
		}
	}
	return least, most
}

// belowThreshold says whether no resource of packing's thresholds is requested above its share.
func belowThreshold(n *descheduling.Node, percent float64) bool {
	for _, name := range packedResources {
		used, have := int64(0), n.Allocatable.Amount(name)
		for _, p := range n.Pods {
			used += p.Spec.Requests.Amount(name)
		}
		if have > 0 && float64(used)/float64(have)*100 > percent {
			return false
		}
	}
	return true
}
