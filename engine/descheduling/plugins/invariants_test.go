package plugins

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/berthproject/berth/engine/descheduling"
	"github.com/berthproject/berth/engine/model"
)

// TestInvariants runs random policies with all strategies over random clusters in both modes. It
// checks the package's invariants: Filtered, Limited, Ordered, Unchanged.
func TestInvariants(t *testing.T) {
	moves := map[string]int{}
	for seed := range uint64(300) {
		s, p := randomCluster(rand.New(rand.NewPCG(seed, 1))), randomPolicy(rand.New(rand.NewPCG(seed, 2)))
		before := formatSnapshot(s)
		run := func() (descheduling.Result, string) {
			m := &fakeMover{refuse: fmt.Sprintf("p%d", seed%7)}
			if rng := rand.New(rand.NewPCG(seed, 3)); seed%2 == 0 {
				m.place = func(*descheduling.Candidate) *descheduling.Node { return s.Nodes[rng.IntN(len(s.Nodes))] }
			}
			r := descheduling.RunPolicy(s, p, m)
			return r, fmt.Sprint(formatMoves(r.Moves), m.candidates, r.SkippedReason, r.FailedProfiles)
		}
		result, text := run()
		if got := formatSnapshot(s); got != before {
			t.Fatalf("seed %d: Unchanged: the snapshot is now\n%s\nwas\n%s", seed, got, before)
		}
		if _, repeated := run(); repeated != text {
			t.Fatalf("seed %d: Ordered: first\n%s\nthen\n%s", seed, text, repeated)
		}
		for _, reason := range findViolations(s, p, result.Moves) {
			t.Errorf("seed %d: %s", seed, reason)
		}
		for _, m := range result.Moves {
			moves[m.Strategy]++
		}
	}
	for _, s := range allStrategies(rand.New(rand.NewPCG(0, 0))) {
		if moves[s.Name()] < 10 {
			t.Errorf("%s moved %d pods in total, want at least 10", s.Name(), moves[s.Name()])
		}
	}
}

// findViolations returns the invariants that moves violate.
func findViolations(s *descheduling.Snapshot, p *descheduling.Policy, moves []descheduling.Move) (out []string) {
	nodes, namespaces, pods := map[string]int{}, map[string]int{}, map[*descheduling.Pod]bool{}
	for _, m := range moves {
		nodes[m.Node.Name]++
		namespaces[m.Pod.Namespace]++
		args := p.Profiles[0].Evictor
		details := m.Pod.Details
		switch {
		case pods[m.Pod]:
			out = append(out, "Filtered: "+m.Pod.Name+" was evicted twice")
		case m.Node.Name != m.Pod.NodeName || !slices.Contains(m.Node.Pods, m.Pod):
			out = append(out, "Filtered: "+m.Pod.Name+" is not on "+m.Node.Name)
		case details.EvictAnyway:
		case m.Pod.Mirror || m.Pod.Deleting || details.Static || m.Pod.OwnedBy([]string{"DaemonSet"}) ||
			args.ProtectLocalStorage && details.LocalStorage || details.HasPriority && m.Pod.Spec.Priority >= 1000:
			out = append(out, "Filtered: "+m.Pod.Name+" is protected")
		case m.Node.NotReady:
			out = append(out, "Filtered: "+m.Node.Name+" is not ready")
		}
		pods[m.Pod] = true
	}
	checkLimit := func(limit *int, kind string, counts map[string]int) {
		for name, n := range counts {
			if limit != nil && n > *limit {
				out = append(out, fmt.Sprintf("Limited: %d pods of %s %s, at most %d", n, kind, name, *limit))
			}
		}
	}
	checkLimit(p.Limits.PerNode, "node", nodes)
	checkLimit(p.Limits.PerNamespace, "namespace", namespaces)
	checkLimit(p.Limits.Total, "round", map[string]int{"": len(moves)})
	return out
}

// formatSnapshot returns the pods of each node.
func formatSnapshot(s *descheduling.Snapshot) string {
	var b strings.Builder
	for _, n := range s.Nodes {
		fmt.Fprintf(&b, "%s %v:", n.Name, n.Allocatable)
		for _, p := range n.Pods {
			fmt.Fprintf(&b, " %s@%s/%v", p.Key(), p.NodeName, p.Spec.Requests)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func randomPolicy(rng *rand.Rand) *descheduling.Policy {
	limit := func() *int {
		if n := rng.IntN(6); n > 0 {
			return &n
		}
		return nil
	}
	threshold := int32(1000)
	args := defaultArgs()
	args.NodeFit, args.MinReplicas, args.Priority.Value = rng.IntN(3) == 0, rng.IntN(3), &threshold
	args.ProtectLocalStorage = rng.IntN(2) == 0
	strategies := allStrategies(rng)
	rng.Shuffle(len(strategies), func(i, j int) { strategies[i], strategies[j] = strategies[j], strategies[i] })
	p := &descheduling.Policy{Profiles: []descheduling.Profile{{Name: "p", Evictor: args, Deschedule: strategies[:3], Balance: strategies[3:5]}}}
	if rng.IntN(2) == 0 {
		p.Limits = descheduling.Limits{PerNode: limit(), PerNamespace: limit(), Total: limit()}
	}
	return p
}

func allStrategies(rng *rand.Rand) []descheduling.Strategy {
	thresholds := Thresholds{{Resource: "cpu", Percent: 20}, {Resource: "pods", Percent: 30}}
	return []descheduling.Strategy{
		&RemovePodsViolatingInterPodAntiAffinity{}, &RemovePodsViolatingNodeTaints{PreferNoSchedule: rng.IntN(2) == 0},
		&RemovePodsViolatingNodeAffinity{Types: []AffinityType{RequiredAffinity, PreferredAffinity}},
		&RemovePodsHavingTooManyRestarts{Threshold: 4}, &PodLifeTime{MaxAge: hours(3)}, &RemoveFailedPods{},
		&RemoveDuplicates{}, &RemovePodsViolatingTopologySpreadConstraint{Hard: true, BalanceNodeFit: rng.IntN(2) == 0},
		&LowNodeUtilization{Thresholds: thresholds, Targets: Thresholds{{Resource: "cpu", Percent: 25}, {Resource: "pods", Percent: 40}}},
		&HighNodeUtilization{Thresholds: thresholds},
	}
}

// randomCluster returns a cluster of randomAntiAffinity with the properties that other strategies
// read.
func randomCluster(rng *rand.Rand) *descheduling.Snapshot {
	s := randomAntiAffinity(rng)
	for _, n := range s.Nodes {
		n.Node.AllocatablePods, n.NotReady = 10, rng.IntN(8) == 0
		if rng.IntN(3) == 0 {
			n.Taints = []model.Taint{{Key: "t", Effect: model.Effect(1 + rng.IntN(3))}}
		}
		for _, p := range n.Pods {
			randomizePod(rng, p)
		}
	}
	return s
}

// randomizePod gives a pod random properties.
func randomizePod(rng *rand.Rand, p *descheduling.Pod) {
	spec, d := *p.Spec, p.Details
	p.Spec = &spec
	spec.Requests.MilliCPU = int64(rng.IntN(4)) * 300
	d.HasPriority, d.Images = rng.IntN(2) == 0, []string{"img"}
	if d.HasPriority {
		spec.Priority = []int32{-5, 0, 100, 1000, 2_000_000_000}[rng.IntN(5)]
	}
	if rng.IntN(4) == 0 {
		spec.NodeSelector.HasRequired = true
		spec.NodeSelector.Required = []model.NodeSelectorTerm{{Labels: labelSelector("zone", fmt.Sprint(rng.IntN(3))).Requirements}}
	}
	if rng.IntN(4) == 0 {
		spec.NodeSelector.Preferred = []model.PreferredSchedulingTerm{{Weight: 5, Term: model.NodeSelectorTerm{Labels: labelSelector("zone", "2").Requirements}}}
	}
	if rng.IntN(3) == 0 {
		spec.Spread = []model.SpreadConstraint{{TopologyKey: "host", MaxSkew: 1, MinDomains: 1, Hard: true, Selector: labelSelector("app", "x")}}
	}
	p.Created = noon.Add(-time.Duration(rng.IntN(6)) * time.Hour)
	p.Deleting, p.Mirror, d.Static = rng.IntN(15) == 0, rng.IntN(15) == 0, rng.IntN(15) == 0
	d.LocalStorage, d.EvictAnyway, d.PreferNoEviction = rng.IntN(6) == 0, rng.IntN(12) == 0, rng.IntN(6) == 0
	d.Owners = []model.Owner{{Kind: []string{"ReplicaSet", "ReplicaSet", "Job", "DaemonSet"}[rng.IntN(4)], Name: "o", UID: fmt.Sprint(rng.IntN(3))}}
	d.Containers = []descheduling.Container{{Restarts: int32(rng.IntN(6))}}
}
