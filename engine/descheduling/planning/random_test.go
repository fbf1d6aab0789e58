package planning

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/berthproject/berth/engine/cluster"
	"github.com/berthproject/berth/engine/descheduling"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/placement"
	"github.com/berthproject/berth/engine/placement/framework"
)

// TestPlansMatchReferenceEvaluator replays plans of random clusters with the reference evaluator
// on a separate state. Each pod must be scheduled to its planned node, not back, and must fit
// beside all earlier moves.
func TestPlansMatchReferenceEvaluator(t *testing.T) {
	moves, refused := 0, 0
	for seed := range uint64(150) {
		r := rand.New(rand.NewPCG(seed, 3))
		s := randomState(r)
		snap := snapshot(s)
		mode := Mode(seed % 2)
		p := New(snap, s, Options{Now: now, Mode: mode, Profiles: profiles(t), Seed: seed})
		names := propose(r, p, snap)
		got := p.Plan()
		applied := stateOf()
		for _, id := range s.NodeIDs() {
			applied.UpsertNode(s.Node(id).Model)
		}
		for _, n := range snap.Nodes {
			for _, q := range n.Pods {
				applied.UpsertPod(q.Pod)
			}
		}
		for i, m := range got.Moves {
			applied.RemovePod(m.Pod.UID)
			rec := placement.Evaluate(applied, profiles(t)["default-scheduler"], seed, ExpectedReplacement(m.Pod, ""))
			if rec.Choice != m.To || m.To == m.From || mode == WithoutHolds && slices.Contains(rec.Top, m.From) {
				t.Fatalf("seed %d, move %d of %v: NotFutile: %s is scheduled to %s of %v, want a move from %s to %s", seed, i, names, m.Pod.Name, rec.Choice, rec.Top, m.From, m.To)
			}
			if !m.Gain.Improves() && m.Gain.Metric != "" {
				t.Fatalf("seed %d: %+v does not improve the goal", seed, m.Gain)
			}
			applied.UpsertPod(ExpectedReplacement(m.Pod, m.To))
		}
		if dump(applied) != dump(p.fork) {
			t.Fatalf("seed %d: Restored: the fork is\n%swant, without the refused candidates,\n%s", seed, dump(p.fork), dump(applied))
		}
		for _, id := range p.fork.NodeIDs() {
			if n := p.fork.Node(id); n.Used.MilliCPU > n.Model.Allocatable.MilliCPU {
				t.Fatalf("seed %d: NotOvercommitted: %s has %d millicores in use", seed, n.Model.Name, n.Used.MilliCPU)
			}
		}
		moves, refused = moves+len(got.Moves), refused+len(got.Refused)
	}
	if t.Logf("%d moves, %d refused", moves, refused); moves < 300 || refused < 300 {
		t.Errorf("got %d moves and %d refusals, want at least 300 of each", moves, refused)
	}
}

func randomState(r *rand.Rand) *cluster.State {
	s := stateOf()
	nodes := 3 + r.IntN(6)
	for i := range nodes {
		s.UpsertNode(newNode(fmt.Sprint("n", i)))
	}
	specs := map[string]*model.PodSpec{}
	for i := range 3 * nodes {
		app := fmt.Sprint("w", r.IntN(4))
		p := newPod(fmt.Sprint(app, "-", i), fmt.Sprint("n", r.IntN(1+nodes/2)), int64(100+100*r.IntN(8)))
		if specs[app] == nil {
			specs[app] = p.Spec
			switch r.IntN(4) {
			case 0:
				p.Spec.AntiAffinity = []model.PodAffinityTerm{{Selector: selectorFor(app), TopologyKey: framework.HostnameKey, Namespaces: []string{"x"}}}
			case 1:
				p.Spec.Spread = []model.SpreadConstraint{{TopologyKey: framework.HostnameKey, MaxSkew: 2, MinDomains: 1, Hard: r.IntN(2) == 0, Selector: selectorFor(app)}}
			}
		}
		p.Spec = specs[app]
		if id, _ := s.NodeID(p.NodeName); s.Node(id).Used.MilliCPU+p.Spec.Requests.MilliCPU <= 4000 {
			s.UpsertPod(p)
		}
	}
	return s
}

// propose proposes random pods, some of them atomically, and returns their names.
func propose(r *rand.Rand, p *Planner, snap *descheduling.Snapshot) []string {
	var names []string
	for _, n := range snap.Nodes {
		for _, q := range n.Pods {
			names = append(names, q.Name)
		}
	}
	r.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	restore, remaining := func() {}, 0
	for _, name := range names {
		if remaining == 0 && r.IntN(4) == 0 {
			restore, _ = p.Checkpoint()
			remaining = 3
		}
		c := candidate(snap, name)
		if r.IntN(2) == 0 {
			c.Gain = func(to *descheduling.Node) descheduling.Gain {
				return descheduling.Gain{Before: int64(len(c.Node.Pods)), After: int64(len(to.Pods)) + 1, Metric: "pods"}
			}
		}
		p.Move("S", "p", c)
		if remaining > 0 {
			if remaining--; remaining == 0 && r.IntN(2) == 0 {
				restore()
			}
		}
	}
	return names
}
