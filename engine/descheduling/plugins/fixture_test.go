package plugins

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/berthproject/berth/engine/descheduling"
	"github.com/berthproject/berth/engine/model"
)

// noon is the current time in all tests.
var noon = time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)

// testNode returns a ready node with capacity for a hundred pods.
func testNode(name string, change ...func(*descheduling.Node)) *descheduling.Node {
	n := &descheduling.Node{Node: &model.Node{Name: name, AllocatablePods: 100, Allocatable: model.Resources{MilliCPU: 4000, Memory: 8 << 30}}}
	for _, c := range change {
		c(n)
	}
	return n
}

// testPod returns a running pod of ReplicaSet rs, one hour old, without requests.
func testPod(name, node string, change ...func(*descheduling.Pod)) *descheduling.Pod {
	p := &descheduling.Pod{
		Pod: &model.Pod{Namespace: "default", Name: name, UID: "uid-" + name, NodeName: node, Phase: model.Running,
			Spec: &model.PodSpec{}, Created: noon.Add(-time.Hour), Started: noon.Add(-time.Hour)},
		Details: &descheduling.PodDetails{Owners: []model.Owner{{Kind: "ReplicaSet", Name: "rs", UID: "uid-rs"}}},
	}
	for _, c := range change {
		c(p)
	}
	return p
}

func testSnapshot(nodes []*descheduling.Node, pods ...*descheduling.Pod) *descheduling.Snapshot {
	s := &descheduling.Snapshot{Now: noon, Namespaces: map[string]model.Labels{}, Priorities: map[string]int32{}, ClaimStorageClasses: map[string]string{}}
	s.SetNodesAndPods(nodes, pods)
	return s
}

func defaultArgs() descheduling.DefaultEvictorArgs {
	return descheduling.DefaultEvictorArgs{ProtectLocalStorage: true, ProtectDaemonSets: true, ProtectSystemCritical: true, ProtectFailedBare: true}
}

// fakeMover grants all evictions except those in refuse. With place it plans moves.
type fakeMover struct {
	refuse     string // names of the pods whose eviction is refused
	place      func(*descheduling.Candidate) *descheduling.Node
	candidates []string
}

func (m *fakeMover) ChoosesNodes() bool { return m.place != nil }

func (m *fakeMover) Move(_, _ string, c *descheduling.Candidate) (*descheduling.Node, bool) {
	m.candidates = append(m.candidates, c.Pod.Name)
	if strings.Contains(m.refuse, c.Pod.Name) {
		return nil, false
	}
	if m.place == nil {
		return nil, true
	}
	to := m.place(c)
	return to, to != nil
}

func (m *fakeMover) Checkpoint() (func(), bool) {
	n := len(m.candidates)
	return func() { m.candidates = m.candidates[:n] }, m.place != nil
}

// evict runs strategies over a snapshot and returns the names of the evicted pods in order.
func evict(t *testing.T, s *descheduling.Snapshot, p *descheduling.Policy, m descheduling.Mover, strategies ...descheduling.Strategy) string {
	t.Helper()
	if len(p.Profiles) == 0 {
		p.Profiles = []descheduling.Profile{{Name: "p", Evictor: defaultArgs()}}
	}
	p.Profiles[0].Deschedule = strategies
	result := descheduling.RunPolicy(s, p, m)
	if len(result.FailedProfiles) > 0 || result.SkippedReason != "" {
		t.Fatalf("failed profiles %+v, skipped %q; want a complete run", result.FailedProfiles, result.SkippedReason)
	}
	return formatMoves(result.Moves)
}

func formatMoves(moves []descheduling.Move) string {
	var names []string
	for _, m := range moves {
		names = append(names, m.Pod.Name)
	}
	return strings.Join(names, " ")
}

// numberedNodes returns nodes n1, n2, ...
func numberedNodes(count int) (out []*descheduling.Node) {
	for i := range count {
		out = append(out, testNode(fmt.Sprintf("n%d", i+1)))
	}
	return out
}

// strategyFunc is a strategy that consists of its Run function.
type strategyFunc func(*descheduling.Round)

func (strategyFunc) Name() string                { return "Script" }
func (s strategyFunc) Run(r *descheduling.Round) { s(r) }

func labelSelector(key, value string) *model.Selector {
	return &model.Selector{Requirements: []model.Requirement{{Key: key, Op: model.In, Values: []string{value}}}}
}
