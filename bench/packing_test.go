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
	in          *conversion.Converter
	nodes       []*corev1.Node
	state       *cluster.State
	packer      *framework.Profile
	engine      *fastpath.Engine
	pods        map[string]*descheduling.Pod // the bound pods by UID
	pending     []*descheduling.Pod
	unplaced    map[string]bool // controllers whose pods did not fit when the cluster was filled
	result      packingResult
	terminating []string // UIDs of evicted pods that still exist
}

// packingResult is the outcome of packing. Emptied nodes have none of the pods left that
// the cluster was filled with. Taken ones of them now have pods that had waited for a
// node.
type packingResult struct {
	Rounds, Before, Emptied, Taken, Evicted, Returned, Pending int
}

// mostAllocated returns the profile of a scheduler that packs: no plugin prefers empty
// nodes.
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

// fill places pods of the trace in a random order with the default profile of
// kube-scheduler, which spreads them.
func fill(t *testing.T, nodes []*corev1.Node, pods []*corev1.Pod, seed uint64) *packingCluster {
	y := &packingCluster{in: conversion.New(), nodes: nodes, state: cluster.New(), packer: mostAllocated(t), pods: map[string]*descheduling.Pod{}, unplaced: map[string]bool{}}
	for _, n := range nodes {
		y.state.UpsertNode(y.in.DeschedulingNode(n).Node)
	}
	c := framework.DefaultConfig()
	c.Name = "packer" // the scheduler of these pods, before it packed
	spread, err := framework.NewProfile(c)
	if err != nil {
		t.Fatal(err)
	}
	engine := fastpath.NewEngine(y.state, spread, seed)
	for _, i := range rand.New(rand.NewPCG(seed, 0)).Perm(len(pods)) {
		p := y.in.DeschedulingPod(pods[i])
		if !y.place(engine, p) {
			y.pending, y.unplaced[p.Owner.UID] = append(y.pending, p), true
		}
	}
	empty, _ := y.countEmpty()
	y.result.Before = len(nodes) - empty
	return y
}

// fork returns a copy of the cluster for a scheduler that packs.
func (y *packingCluster) fork() *packingCluster {
	c := *y
	c.state, c.pods, c.pending = y.state.Fork(), maps.Clone(y.pods), slices.Clone(y.pending)
	c.engine = fastpath.NewEngine(c.state, c.packer, 1)
	return &c
}

// place binds a pod where an engine decides. It returns false if the pod does not fit.
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

// countEmpty returns how many nodes have no pods except those of unplaced controllers,
// and how many of them have such pods.
func (y *packingCluster) countEmpty() (n, used int) {
	for _, id := range y.state.NodeIDs() {
		pods := y.state.Node(id).Pods
		if slices.ContainsFunc(pods, func(p *model.Pod) bool { return !y.unplaced[p.Owner.UID] }) {
			continue
		}
		if n++; len(pods) > 0 {
			used++
		}
	}
	return n, used
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

// evictingMover is compatible mode: the scheduler places each replacement at once. The
// victims take longer than a round to stop, so their resources are not free before its
// end.
type evictingMover struct{ *packingCluster }

func (evictingMover) ChoosesNodes() bool { return false }

func (evictingMover) Checkpoint() (func(), bool) { return nil, false }

func (y evictingMover) Move(_, _ string, c *descheduling.Candidate) (*descheduling.Node, bool) {
	next := y.evict(c.Pod)
	terminating := *c.Pod.Pod
	terminating.Deleting = true
	y.state.UpsertPod(&terminating)
	y.terminating = append(y.terminating, terminating.UID)
	if !y.place(y.engine, next) {
		y.pending = append(y.pending, next)
	} else if y.pods[next.UID].NodeName == c.Node.Name {
		y.result.Returned++
	}
	return nil, true
}

// round makes one round with at most the given evictions and returns how many it made.
func (y *packingCluster) round(policy descheduling.Policy, planned bool, maxEvictions int) int {
	before, snapshot := y.result.Evicted, y.snapshot()
	policy.Limits.Total = &maxEvictions
	if !planned {
		descheduling.RunPolicy(snapshot, &policy, evictingMover{y})
		for _, uid := range y.terminating {
			y.state.RemovePod(uid)
		}
		y.terminating = nil
		return y.result.Evicted - before
	}
	p := planning.New(snapshot, y.state, planning.Options{Now: snapshot.Now, Profiles: map[string]*framework.Profile{"packer": y.packer}})
	descheduling.RunPolicy(snapshot, &policy, p)
	for _, m := range p.Plan().Moves {
		y.bind(y.evict(y.pods[m.Pod.UID]), m.To)
	}
	return y.result.Evicted - before
}

// pack makes rounds until one evicts no pod, at most ten, with at most the given
// evictions.
func (y *packingCluster) pack(policy descheduling.Policy, planned bool, maxEvictions int) packingResult {
	for y.result.Rounds < 10 {
		y.result.Rounds++
		if y.round(policy, planned, maxEvictions-y.result.Evicted) == 0 {
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
	empty, used := y.countEmpty()
	out.Emptied, out.Taken, out.Pending = out.Before-(len(y.nodes)-empty), used, len(y.pending)
	return out
}

// openB reads the trace. Its pods get a controller each, and the scheduler that packs.
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

// bounds returns the bounds of an algorithm that empties only nodes that
// HighNodeUtilization may empty: the minimum evictions for the given nodes, and the
// maximum nodes for the given evictions. Each pod of an emptied node must move once. A
// node above the threshold loses no pod, so no other node falls below the threshold.
func (y *packingCluster) bounds(percent float64, nodes, evictions int) (lower, upper int) {
	var sizes []int
	for _, n := range y.snapshot().Nodes {
		if len(n.Pods) > 0 && belowThreshold(n, percent) {
			sizes = append(sizes, len(n.Pods))
		}
	}
	slices.Sort(sizes)
	for i, n := range sizes {
		if i < nodes {
			lower += n
		}
		if evictions -= n; evictions >= 0 {
			upper++
		}
	}
	return lower, upper
}

// belowThreshold reports whether all resources of the thresholds of packing are requested
// at most to the given percentage.
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
