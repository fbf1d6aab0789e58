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
	converter   *conversion.Converter
	nodes       []*corev1.Node
	state       *cluster.State
	packer      *framework.Profile
	engine      *fastpath.Engine
	pods        map[string]*descheduling.Pod // bound pods by UID
	pending     []*descheduling.Pod
	unplaced    map[string]bool // UIDs of controllers whose pods did not fit when the cluster was filled
	result      packingResult
	terminating []string // UIDs of evicted pods that still exist
}

// packingResult is the outcome of packing. Emptied is the number of nodes that have lost all pods that the cluster was
// filled with. Reused is the number of these that now run pods that were pending.
type packingResult struct {
	Rounds, Before, Emptied, Reused, Evicted, Returned, Pending int
}

// mostAllocated returns the profile of a scheduler that packs: no plugin prefers empty nodes.
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

// fill binds pods of the trace in a random order with the default profile of kube-scheduler, which spreads
// them.
func fill(t *testing.T, nodes []*corev1.Node, pods []*corev1.Pod, seed uint64) *packingCluster {
	c := &packingCluster{converter: conversion.New(), nodes: nodes, state: cluster.New(), packer: mostAllocated(t), pods: map[string]*descheduling.Pod{}, unplaced: map[string]bool{}}
	for _, n := range nodes {
		c.state.UpsertNode(c.converter.DeschedulingNode(n).Node)
	}
	cfg := framework.DefaultConfig()
	cfg.Name = "packer" // the scheduler of all pods
	spread, err := framework.NewProfile(cfg)
	if err != nil {
		t.Fatal(err)
	}
	engine := fastpath.NewEngine(c.state, spread, seed)
	for _, i := range rand.New(rand.NewPCG(seed, 0)).Perm(len(pods)) {
		p := c.converter.DeschedulingPod(pods[i])
		if !c.place(engine, p) {
			c.pending, c.unplaced[p.Owner.UID] = append(c.pending, p), true
		}
	}
	empty, _ := c.countEmpty()
	c.result.Before = len(nodes) - empty
	return c
}

// fork returns a copy of the cluster for a scheduler that packs.
func (c *packingCluster) fork() *packingCluster {
	forked := *c
	forked.state, forked.pods, forked.pending = c.state.Fork(), maps.Clone(c.pods), slices.Clone(c.pending)
	forked.engine = fastpath.NewEngine(forked.state, forked.packer, 1)
	return &forked
}

// place binds a pod to the node that an engine chooses. It returns false if the pod does not fit.
func (c *packingCluster) place(e *fastpath.Engine, p *descheduling.Pod) bool {
	var s decision.Summary
	if e.Decide(p.Pod, &s); s.Outcome != decision.Scheduled {
		return false
	}
	c.bind(p, s.Choice)
	return true
}

func (c *packingCluster) bind(p *descheduling.Pod, node string) {
	bound := *p.Pod
	bound.NodeName, bound.Phase = node, model.Running
	c.pods[bound.UID] = &descheduling.Pod{Pod: &bound, Details: p.Details}
	c.state.UpsertPod(&bound)
}

// evict removes a pod from its node and returns its replacement.
func (c *packingCluster) evict(p *descheduling.Pod) *descheduling.Pod {
	c.state.RemovePod(p.UID)
	delete(c.pods, p.UID)
	c.result.Evicted++
	replacement := *p.Pod
	replacement.UID, replacement.NodeName, replacement.Phase = fmt.Sprintf("%s-%d", p.Owner.UID, c.result.Evicted), "", model.Pending
	return &descheduling.Pod{Pod: &replacement, Details: p.Details}
}

// countEmpty returns the number of nodes that have no pods except those of unplaced controllers, and the
// number of these nodes that have such pods.
func (c *packingCluster) countEmpty() (n, used int) {
	for _, id := range c.state.NodeIDs() {
		pods := c.state.Node(id).Pods
		if slices.ContainsFunc(pods, func(p *model.Pod) bool { return !c.unplaced[p.Owner.UID] }) {
			continue
		}
		if n++; len(pods) > 0 {
			used++
		}
	}
	return n, used
}

// snapshot returns the cluster as the descheduler observes it.
func (c *packingCluster) snapshot() *descheduling.Snapshot {
	s := &descheduling.Snapshot{Now: time.Unix(0, 0), Namespaces: map[string]model.Labels{}, Priorities: map[string]int32{}, ClaimStorageClasses: map[string]string{}}
	var nodes []*descheduling.Node
	for _, n := range c.nodes {
		nodes = append(nodes, c.converter.DeschedulingNode(n))
	}
	var pods []*descheduling.Pod
	for _, id := range c.state.NodeIDs() {
		for _, p := range c.state.Node(id).Pods {
			pods = append(pods, c.pods[p.UID])
		}
	}
	s.SetNodesAndPods(nodes, pods)
	return s
}

// evictingMover implements compatible mode: the scheduler places each replacement at once. The
// resources of victims are free at the end of the round.
type evictingMover struct{ *packingCluster }

func (evictingMover) ChoosesNodes() bool { return false }

func (evictingMover) Checkpoint() (func(), bool) { return nil, false }

func (c evictingMover) Move(_, _ string, candidate *descheduling.Candidate) (*descheduling.Node, bool) {
	replacement := c.evict(candidate.Pod)
	terminating := *candidate.Pod.Pod
	terminating.Deleting = true
	c.state.UpsertPod(&terminating)
	c.terminating = append(c.terminating, terminating.UID)
	if !c.place(c.engine, replacement) {
		c.pending = append(c.pending, replacement)
	} else if c.pods[replacement.UID].NodeName == candidate.Node.Name {
		c.result.Returned++
	}
	return nil, true
}

// round makes one round of at most maxEvictions evictions and returns the number of evictions.
func (c *packingCluster) round(policy descheduling.Policy, planned bool, maxEvictions int) int {
	before, snapshot := c.result.Evicted, c.snapshot()
	policy.Limits.Total = &maxEvictions
	if !planned {
		descheduling.RunPolicy(snapshot, &policy, evictingMover{c})
		for _, uid := range c.terminating {
			c.state.RemovePod(uid)
		}
		c.terminating = nil
		return c.result.Evicted - before
	}
	p := planning.New(snapshot, c.state, planning.Options{Now: snapshot.Now, Profiles: map[string]*framework.Profile{"packer": c.packer}})
	descheduling.RunPolicy(snapshot, &policy, p)
	for _, m := range p.Plan().Moves {
		c.bind(c.evict(c.pods[m.Pod.UID]), m.To)
	}
	return c.result.Evicted - before
}

// pack makes at most ten rounds, until a round evicts no pod. It makes at most maxEvictions evictions.
func (c *packingCluster) pack(policy descheduling.Policy, planned bool, maxEvictions int) packingResult {
	for c.result.Rounds < 10 {
		c.result.Rounds++
		if c.round(policy, planned, maxEvictions-c.result.Evicted) == 0 {
			break
		}
		pending := c.pending
		c.pending = nil
		for _, p := range pending {
			if !c.place(c.engine, p) {
				c.pending = append(c.pending, p)
			}
		}
	}
	out := c.result
	empty, used := c.countEmpty()
	out.Emptied, out.Reused, out.Pending = out.Before-(len(c.nodes)-empty), used, len(c.pending)
	return out
}

// readOpenB reads the trace. It gives each pod a controller and the scheduler that packs.
func readOpenB(t *testing.T) (nodes []*corev1.Node, pods []*corev1.Pod) {
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

// bounds returns the bounds of any algorithm that empties only nodes that HighNodeUtilization may empty. lower is the
// minimum number of evictions that empties the given number of nodes. upper is the maximum number of nodes that the
// given number of evictions empties. Each pod of an emptied node must move once. A node above the threshold loses no
// pod, so no other node falls below the threshold.
func (c *packingCluster) bounds(percent float64, nodes, evictions int) (lower, upper int) {
	var sizes []int
	for _, n := range c.snapshot().Nodes {
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

// belowThreshold reports whether the requests of each of packedResources are at most a percentage of the
// allocatable amount.
func belowThreshold(n *descheduling.Node, percent float64) bool {
	for _, name := range packedResources {
		used, allocatable := int64(0), n.Allocatable.Amount(name)
		for _, p := range n.Pods {
			used += p.Spec.Requests.Amount(name)
		}
		if allocatable > 0 && float64(used)/float64(allocatable)*100 > percent {
			return false
		}
	}
	return true
}
