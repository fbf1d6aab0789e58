package main

import (
	"encoding/json"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berthproject/berth/engine/cluster"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/placement"
	"github.com/berthproject/berth/engine/rebalance"
	"github.com/berthproject/berth/engine/rebalance/plan"
	"github.com/berthproject/berth/internal/config"
	"github.com/berthproject/berth/internal/intake"
)

// packer is the scheduler of the pods that are to be packed.
const packer = "packer"

// world is what a pass is made on.
type world struct {
	snapshot *rebalance.Snapshot
	state    *cluster.State
	policy   rebalance.Policy
	profiles map[string]*placement.Profile
}

func newWorld(w *Work) (*world, error) {
	var kind metav1.TypeMeta
	if err := json.Unmarshal(w.Policy, &kind); err != nil {
		return nil, err
	}
	d, err := config.ReadDescheduler(config.Document{File: "policy", APIVersion: kind.APIVersion, Kind: kind.Kind, JSON: w.Policy}, config.DeschedulerReading{})
	if err != nil {
		return nil, err
	}
	out := &world{policy: d.Policy, state: cluster.New(), profiles: map[string]*placement.Profile{}, snapshot: &rebalance.Snapshot{
		Now: time.Now(), Namespaces: map[string]model.Labels{"default": nil}, Priorities: map[string]int32{}, Classes: map[string]string{}}}
	in := intake.New()
	nodes := make([]*rebalance.Node, len(w.Nodes))
	for i, n := range w.Nodes {
		nodes[i] = in.DeschedulerNode(n)
		out.state.UpsertNode(nodes[i].Node)
	}
	pods := make([]*rebalance.Pod, len(w.Placed))
	for i := range w.Placed {
		pods[i] = in.Descheduled(w.pod(i))
		out.state.UpsertPod(pods[i].Pod)
	}
	out.snapshot.Place(nodes, pods)
	packing := placement.DefaultConfig()
	packing.Name, packing.Fit.Strategy = packer, placement.MostAllocated
	for _, c := range []placement.Config{placement.DefaultConfig(), packing} {
		if out.profiles[c.Name], err = placement.NewProfile(c); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// granting is an API server that grants all evictions.
type granting struct{}

func (granting) Places() bool { return false }

func (granting) Move(string, string, *rebalance.Candidate) (*rebalance.Node, bool) { return nil, true }

func (granting) Save() (func(), bool) { return nil, false }

// pass makes one pass over the world, which stays as it is.
func (w *world) pass(planned bool, r *Result) error {
	var m rebalance.Mover = granting{}
	var p *plan.Planner
	before := reading()
	if planned {
		p = plan.New(w.snapshot, w.state, plan.Options{Now: w.snapshot.Now, Profiles: w.profiles})
		m = p
	}
	result := rebalance.RunPolicy(w.snapshot, &w.policy, m)
	if planned {
		for _, c := range p.Plan().Counts {
			r.Refused += c.N
		}
	}
	if err := reading().since(before, r); err != nil {
		return err
	}
	r.Evicted, r.By = len(result.Moves), map[string]int{}
	for _, one := range result.Moves {
		r.By[one.Strategy]++
	}
	return nil
}
