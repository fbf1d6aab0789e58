package main

import (
	"encoding/json"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berthproject/berth/engine/cluster"
	"github.com/berthproject/berth/engine/descheduling"
	"github.com/berthproject/berth/engine/descheduling/planning"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/placement/framework"
	"github.com/berthproject/berth/internal/config"
	"github.com/berthproject/berth/internal/conversion"
)

// packer is the scheduler name of the pods to pack.
const packer = "packer"

// benchCluster is a cluster and the policy to run on it.
type benchCluster struct {
	snapshot *descheduling.Snapshot
	state    *cluster.State
	policy   descheduling.Policy
	profiles map[string]*framework.Profile
}

func newBenchCluster(w *Workload) (*benchCluster, error) {
	var kind metav1.TypeMeta
	if err := json.Unmarshal(w.Policy, &kind); err != nil {
		return nil, err
	}
	d, err := config.ReadDescheduler(config.Document{File: "policy", APIVersion: kind.APIVersion, Kind: kind.Kind, JSON: w.Policy}, config.DeschedulerReadOptions{})
	if err != nil {
		return nil, err
	}
	out := &benchCluster{policy: d.Policy, state: cluster.New(), profiles: map[string]*framework.Profile{}, snapshot: &descheduling.Snapshot{
		Now: time.Now(), Namespaces: map[string]model.Labels{"default": nil}, Priorities: map[string]int32{}, ClaimStorageClasses: map[string]string{}}}
	converter := conversion.New()
	nodes := make([]*descheduling.Node, len(w.Nodes))
	for i, n := range w.Nodes {
		nodes[i] = converter.DeschedulingNode(n)
		out.state.UpsertNode(nodes[i].Node)
	}
	pods := make([]*descheduling.Pod, len(w.Placed))
	for i := range w.Placed {
		pods[i] = converter.DeschedulingPod(w.pod(i))
		out.state.UpsertPod(pods[i].Pod)
	}
	out.snapshot.SetNodesAndPods(nodes, pods)
	packingConfig := framework.DefaultConfig()
	packingConfig.Name, packingConfig.Fit.Strategy = packer, framework.MostAllocated
	for _, c := range []framework.Config{framework.DefaultConfig(), packingConfig} {
		if out.profiles[c.Name], err = framework.NewProfile(c); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// grantAllMover grants all evictions without an API server.
type grantAllMover struct{}

func (grantAllMover) ChoosesNodes() bool { return false }

func (grantAllMover) Move(string, string, *descheduling.Candidate) (*descheduling.Node, bool) {
	return nil, true
}

func (grantAllMover) Checkpoint() (func(), bool) { return nil, false }

// pass makes one pass over the cluster without changing it, and adds its cost to r. If planned is set, the planner accepts
// or refuses each move; otherwise all are granted.
func (c *benchCluster) pass(planned bool, r *Result) error {
	var m descheduling.Mover = grantAllMover{}
	var p *planning.Planner
	before := readUsage()
	if planned {
		p = planning.New(c.snapshot, c.state, planning.Options{Now: c.snapshot.Now, Profiles: c.profiles})
		m = p
	}
	result := descheduling.RunPolicy(c.snapshot, &c.policy, m)
	if planned {
		for _, count := range p.Plan().Counts {
			r.Refused += count.Count
		}
	}
	if err := readUsage().addUsageSince(before, r); err != nil {
		return err
	}
	r.Evicted, r.By = len(result.Moves), map[string]int{}
	for _, move := range result.Moves {
		r.By[move.Strategy]++
	}
	return nil
}
