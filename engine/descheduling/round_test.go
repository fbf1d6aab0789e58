package descheduling

import (
	"fmt"
	"strings"
	"testing"

	"github.com/berthproject/berth/engine/model"
)

func intPtr(n int) *int { return &n }

// TestLimits checks that refused evictions count towards no limit. The node limit ends the node,
// the namespace limit skips its pods, and the total limit ends the run.
func TestLimits(t *testing.T) {
	other := func(p *Pod) { p.Namespace = "other" }
	snapshot := func() *Snapshot {
		return testSnapshot(numberedNodes(2), testPod("a", "n1"), testPod("b", "n1"), testPod("c", "n1"), testPod("d", "n1", other),
			testPod("e", "n2"), testPod("f", "n2", other))
	}
	for _, c := range []struct {
		name                string
		limits              Limits
		refuse              string
		candidates, evicted string
	}{
		{"none", Limits{}, "b", "a b c d e f", "a c d e f"},
		{"node", Limits{PerNode: intPtr(2)}, "a", "a b c e f", "b c e f"},
		{"namespace", Limits{PerNamespace: intPtr(2)}, "", "a b d f", "a b d f"},
		{"total", Limits{Total: intPtr(2)}, "a", "a b c", "b c"},
	} {
		m := &fakeMover{refuse: c.refuse}
		evicted := evict(t, snapshot(), &Policy{Limits: c.limits}, m, namedPods{})
		if candidates := strings.Join(m.candidates, " "); candidates != c.candidates || evicted != c.evicted {
			t.Errorf("%s: candidates %s, evicted %s; want %s, %s", c.name, candidates, evicted, c.candidates, c.evicted)
		}
	}
}

// strategyFunc is a strategy that consists of its Run function.
type strategyFunc func(*Round)

func (strategyFunc) Name() string   { return "Script" }
func (s strategyFunc) Run(r *Round) { s(r) }

// formatRound describes the pods of each node and the counters.
func formatRound(r *Round) string {
	var out strings.Builder
	for _, n := range r.Nodes() {
		fmt.Fprintf(&out, "%s(-%d cpu %d):", n.Name, r.evicted.node[n], r.nodePods.contents[n].requested().MilliCPU)
		for _, p := range r.PodsOn(n) {
			out.WriteString(" " + p.Name)
		}
		out.WriteString("; ")
	}
	fmt.Fprintf(&out, "default -%d, all -%d, replicas %d",
		r.evicted.namespace["default"], r.NumEvicted(), r.ownerReplicas("uid-rs"))
	return out.String()
}

// TestAtomically checks that a moved pod is on its planned node and cannot be moved again. If the atomic moves are
// withdrawn, it is on its old node.
func TestAtomically(t *testing.T) {
	withRequest := func(p *Pod) { p.Spec = &model.PodSpec{Requests: model.Resources{MilliCPU: 100}} }
	nodes := numberedNodes(3)
	s := testSnapshot(nodes, testPod("a", "n1", withRequest), testPod("b", "n1", withRequest), testPod("c", "n2", withRequest))
	before := "n1(-0 cpu 200): a b; n2(-0 cpu 100): c; n3(-0 cpu 0):; default -0, all -0, replicas 3"
	after := "n1(-1 cpu 100): b; n2(-0 cpu 200): a c; n3(-0 cpu 0):; default -1, all -1, replicas 3"
	m := &fakeMover{place: func(*Candidate) *Node { return nodes[1] }}
	evict(t, s, &Policy{}, m, strategyFunc(func(r *Round) {
		a, listed := r.PodsOn(nodes[0])[0], r.PodsOn(nodes[0])
		for _, accept := range []bool{false, true} {
			if got := formatRound(r); got != before {
				t.Errorf("before: %s\nwant    %s", got, before)
			}
			accepted := r.Atomically(func() bool {
				if got := r.Evict(&Candidate{Pod: a, Node: nodes[0]}); got != Accepted {
					t.Errorf("outcome %s, want %s", got, Accepted)
				}
				if got := formatRound(r); got != after {
					t.Errorf("after: %s\nwant   %s", got, after)
				}
				return accept
			})
			if accepted != accept || r.Moved(a) != accept || r.Evictable(a) == accept {
				t.Errorf("propose returned %v: Atomically %v, moved %v, evictable %v; want %v, %v, %v", accept, accepted, r.Moved(a), r.Evictable(a), accept, accept, !accept)
			}
		}
		if r.NodeOf(a) != nodes[1] || len(listed) != 2 {
			t.Errorf("a is on %v, want n2; the list from before the moves has %d pods, want 2", r.NodeOf(a), len(listed))
		}
	}))
	if len(m.candidates) != 1 {
		t.Errorf("candidates %v, want one", m.candidates)
	}
}

// TestAtomicallyWithoutCheckpoint checks that evictions are not undone, whatever the function
// returns.
func TestAtomicallyWithoutCheckpoint(t *testing.T) {
	nodes := numberedNodes(2)
	evicted := evict(t, testSnapshot(nodes, testPod("a", "n1")), &Policy{}, &fakeMover{}, strategyFunc(func(r *Round) {
		if !r.Atomically(func() bool { r.Evict(&Candidate{Pod: r.PodsOn(nodes[0])[0], Node: nodes[0]}); return false }) {
			t.Error("Atomically returned false, want true")
		}
		if got := r.ownerReplicas("uid-rs"); got != 0 {
			t.Errorf("replicas %d, want 0", got)
		}
	}))
	if evicted != "a" {
		t.Errorf("evicted %q, want %q", evicted, "a")
	}
}

// TestRunPolicy checks that all profiles run their Deschedule plugins before any Balance plugin.
// Profiles that cannot run are reported, and the others run.
func TestRunPolicy(t *testing.T) {
	s := testSnapshot(numberedNodes(2), testPod("a", "n1"), testPod("b", "n1"), testPod("c", "n2"))
	missing := defaultArgs()
	missing.Priority.Name = "none"
	p := &Policy{Profiles: []Profile{
		{Name: "one", Evictor: defaultArgs(), Deschedule: []Strategy{namedPods{"c"}}, Balance: []Strategy{namedPods{"a"}}},
		{Name: "broken", Evictor: missing, Deschedule: []Strategy{namedPods{}}},
		{Name: "two", Evictor: defaultArgs(), Deschedule: []Strategy{namedPods{"b"}}},
	}}
	result := RunPolicy(s, p, &fakeMover{})
	if got := formatMoves(result.Moves); got != "c b a" || result.Moves[1].Profile != "two" || result.Moves[1].Strategy != "Named" {
		t.Errorf("evicted %s, want c b a: %+v", got, result.Moves)
	}
	if want := `priorityThreshold.name: PriorityClass "none" does not exist`; len(result.FailedProfiles) != 1 || result.FailedProfiles[0] != (FailedProfile{"broken", want}) {
		t.Errorf("failed profiles %+v, want broken: %s", result.FailedProfiles, want)
	}
}

// TestRoundIgnoresUnselectedNodes checks that a run ignores nodes that are not ready or that the
// policy does not select. With a single remaining node it does nothing.
func TestRoundIgnoresUnselectedNodes(t *testing.T) {
	nodes := numberedNodes(4)
	nodes[0].NotReady = true
	nodes[1].Labels = model.LabelsOf(map[string]string{"excluded": "true"})
	s := testSnapshot(nodes, testPod("a", "n1"), testPod("b", "n2"), testPod("c", "n3"))
	p := &Policy{NodeSelector: &model.Selector{Requirements: []model.Requirement{{Key: "excluded", Op: model.DoesNotExist}}}}
	if got := evict(t, s, p, &fakeMover{}, namedPods{}); got != "c" {
		t.Errorf("evicted %q, want %q", got, "c")
	}
	nodes[3].NotReady = true
	if result := RunPolicy(s, p, &fakeMover{}); result.SkippedReason != "1 nodes are ready and selected; at least 2 are required" || len(result.Moves) > 0 {
		t.Errorf("got %+v, want a skipped run", result)
	}
}
