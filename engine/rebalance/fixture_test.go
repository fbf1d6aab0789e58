package rebalance

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/berthproject/berth/engine/model"
)

// noon is now in all tests.
var noon = time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)

// testNode is a ready node with room for a hundred pods.
func testNode(name string, change ...func(*Node)) *Node {
	n := &Node{Node: &model.Node{Name: name, Pods: 100, Allocatable: model.Requests{MilliCPU: 4000, Memory: 8 << 30}}}
	for _, c := range change {
		c(n)
	}
	return n
}

// testPod is a running pod of ReplicaSet rs, an hour old, that asks for nothing.
func testPod(name, node string, change ...func(*Pod)) *Pod {
	p := &Pod{
		Pod: &model.Pod{Namespace: "default", Name: name, UID: "uid-" + name, NodeName: node, Phase: model.Running,
			Spec: &model.PodSpec{}, Created: noon.Add(-time.Hour), Started: noon.Add(-time.Hour)},
		Facts: &Facts{Owners: []model.Owner{{Kind: "ReplicaSet", Name: "rs", UID: "uid-rs"}}},
	}
	for _, c := range change {
		c(p)
	}
	return p
}

func testSnapshot(nodes []*Node, pods ...*Pod) *Snapshot {
	s := &Snapshot{Now: noon, Namespaces: map[string]model.Labels{}, Priorities: map[string]int32{}, Classes: map[string]string{}}
	s.Place(nodes, pods)
	return s
}

// usual is the evictor without a configuration.
func usual() EvictorArgs {
	return EvictorArgs{ProtectLocalStorage: true, ProtectDaemonSets: true, ProtectSystemCritical: true, ProtectFailedBare: true}
}

// evicter grants all but some evictions; with place it plans.
type evicter struct {
	refuse string // names
	place  func(*Candidate) *Node
	asked  []string
}

func (m *evicter) Places() bool { return m.place != nil }

func (m *evicter) Move(_, _ string, c *Candidate) (*Node, bool) {
	m.asked = append(m.asked, c.Pod.Name)
	if strings.Contains(m.refuse, c.Pod.Name) {
		return nil, false
	}
	if m.place == nil {
		return nil, true
	}
	to := m.place(c)
	return to, to != nil
}

func (m *evicter) Save() (func(), bool) {
	n := len(m.asked)
	return func() { m.asked = m.asked[:n] }, m.place != nil
}

// evict runs strategies over a snapshot and returns the names of those who went, in order.
func evict(t *testing.T, s *Snapshot, p *Policy, m Mover, strategies ...Strategy) string {
	t.Helper()
	if len(p.Profiles) == 0 {
		p.Profiles = []Profile{{Name: "p", Evictor: usual()}}
	}
	p.Profiles[0].Deschedule = strategies
	result := RunPolicy(s, p, m)
	if len(result.Broken) > 0 || result.Idle != "" {
		t.Fatalf("did not run: %+v %s", result.Broken, result.Idle)
	}
	return went(result.Moves)
}

func went(moves []Move) string {
	var names []string
	for _, m := range moves {
		names = append(names, m.Pod.Name)
	}
	return strings.Join(names, " ")
}

// named proposes the pods of all nodes whose names are listed; empty: all.
type named struct{ pods string }

func (named) Name() string { return "Named" }

func (s named) Run(r *Round) {
	r.sweep(func(p *Pod, _ *Node) bool { return s.pods == "" || strings.Contains(s.pods, p.Name) },
		func(p *Pod, n *Node) *Candidate { return because(p, n, "") })
}

// numbered are nodes n1, n2 and so on.
func numbered(count int) (out []*Node) {
	for i := range count {
		out = append(out, testNode(fmt.Sprintf("n%d", i+1)))
	}
	return out
}
