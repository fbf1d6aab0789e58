package cluster

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/berthproject/berth/engine/model"
)

func selector(key string, op model.Op, values ...string) *model.Selector {
	return &model.Selector{Requirements: []model.Requirement{{Key: key, Op: op, Values: values}}}
}

// term returns a random affinity term.
func (g gen) term() model.PodAffinityTerm {
	t := model.PodAffinityTerm{TopologyKey: g.pick("zone", "disk", "host", "none"), Namespaces: []string{g.pick("x", "y")}}
	t.Selector = []*model.Selector{selector("app", model.In, "web"), selector("v", model.NotIn, "1"), selector("app", model.Exists),
		nil, {}, selector("extra", model.DoesNotExist)}[g.IntN(6)]
	if g.IntN(4) == 0 {
		t.NamespaceSelector = []*model.Selector{{}, selector("team", model.In, "a"), selector("team", model.NotIn, "a")}[g.IntN(3)]
	}
	return t
}

// terms adds random affinity terms to a specification.
func (g gen) terms(s *model.PodSpec) {
	for range g.IntN(2) {
		s.Affinity = append(s.Affinity, g.term())
		s.AntiAffinity = append(s.AntiAffinity, g.term())
	}
	for range g.IntN(2) {
		s.PreferredAffinity = append(s.PreferredAffinity, model.WeightedPodAffinityTerm{Weight: int32(1 + g.IntN(2)), Term: g.term()})
		s.PreferredAntiAffinity = append(s.PreferredAntiAffinity, model.WeightedPodAffinityTerm{Weight: 5, Term: g.term()})
	}
}

// counterDef defines a DomainCounter.
type counterDef struct {
	key      string
	eligible func(*NodeInfo) int32 // nil: all
	tag      string
	minimum  bool
	m        Matcher
}

// counterDef returns a random definition.
func (g gen) counterDef() counterDef {
	d := counterDef{key: g.pick("zone", "disk", "host", ""), tag: g.pick("", "ssd", "untainted"), minimum: g.IntN(3) > 0, m: Matcher{SkipDeleting: g.IntN(2) == 0}}
	switch d.tag {
	case "ssd":
		d.eligible = func(n *NodeInfo) int32 {
			if v, _ := n.Model.Labels.Get("disk"); v == "ssd" {
				return 1
			}
			return 0
		}
	case "untainted":
		d.eligible = func(n *NodeInfo) int32 { return int32(1 - len(n.Model.Taints)) }
	}
	for range 1 + g.IntN(2) {
		t := g.term()
		d.m.Terms = append(d.m.Terms, MatchTermOf(&t))
	}
	return d
}

func (x *Index) counterOf(d counterDef) *DomainCounter {
	d.minimum = d.minimum || len(x.counters)%2 == 0
	var e *NodeValues
	if d.eligible != nil {
		e = x.NodeValues(d.tag, d.eligible)
	}
	return x.Counter(CounterKey(d.key, d.tag, &d.m), d.key, e, d.m, d.minimum)
}

// matchesPod is a reference implementation of Matcher. If incoming is set, p is the incoming
// pod and the terms are those of an assigned pod.
func matchesPod(s *State, m *Matcher, p *model.Pod, incoming bool) bool {
	if m.SkipDeleting && p.Deleting {
		return false
	}
	for _, t := range m.Terms {
		labels, ok := s.NamespaceLabels(p.Namespace)
		selected := t.NamespaceSelector.Matches(labels)
		if !incoming { // a selector that matches empty labels selects all namespaces, known or not
			selected = ok && selected || t.NamespaceSelector.Matches(nil)
		}
		if !slices.Contains(t.Namespaces, p.Namespace) && !selected {
			return false
		}
		if !t.Selector.Matches(p.Labels) {
			return false
		}
	}
	return true
}

// recount counts the pods of eligible nodes, and these nodes, by the value of a label.
func recount(s *State, key string, eligible func(*NodeInfo) int32, weigh func(p *model.Pod) int32) (counts, nodes map[string]int32) {
	counts, nodes = map[string]int32{}, map[string]int32{}
	for _, id := range s.NodeIDs() {
		n := s.Node(id)
		v := domainValue(n.Model, key)
		if key == "" {
			v = n.Model.Name
		}
		if v == "" || (eligible != nil && eligible(n) == 0) {
			continue
		}
		nodes[v]++
		for _, p := range n.Pods {
			counts[v] += weigh(p)
		}
	}
	maps.DeleteFunc(counts, func(_ string, n int32) bool { return n == 0 })
	return counts, nodes
}

func byName(c *DomainCounter) map[string]int32 {
	out := map[string]int32{}
	for d, n := range c.Counts {
		if n != 0 {
			out[c.Topology.names[d]] = n
		}
	}
	return out
}

func checkCounter(t *testing.T, s *State, c *DomainCounter, d counterDef) {
	t.Helper()
	counts, nodes := recount(s, d.key, d.eligible, func(p *model.Pod) int32 {
		if matchesPod(s, &d.m, p, false) {
			return 1
		}
		return 0
	})
	if got := byName(c); !maps.Equal(got, counts) {
		t.Fatalf("counter %+v: counts %v, want %v", d, got, counts)
	}
	least, total := int32(0), int64(0)
	for i, v := range slices.Sorted(maps.Keys(nodes)) {
		if i == 0 || counts[v] < least {
			least = counts[v]
		}
		total += int64(counts[v])
	}
	if !d.minimum {
		return
	}
	if got, domains := c.Min(); got != least || domains != len(nodes) || c.Total != total {
		t.Fatalf("counter %+v: minimum %d in %d domains, total %d; want %d in %d domains, total %d", d, got, domains, c.Total, least, len(nodes), total)
	}
}

// checkTerms compares the counts of all terms of all pods, and the terms that match a pod
// of each class.
func checkTerms(t *testing.T, s *State, x *Index) {
	t.Helper()
	for name, term := range x.terms {
		counts, _ := recount(s, term.Topology.Key, nil, func(p *model.Pod) (n int32) {
			for _, other := range x.termsOf(p.Spec) {
				if other == term {
					n++
				}
			}
			return n
		})
		if got := byName(&term.DomainCounter); !maps.Equal(got, counts) {
			t.Fatalf("term %q: counts %v, want %v", name, got, counts)
		}
	}
	for _, id := range s.NodeIDs() {
		for _, p := range s.Node(id).Pods {
			matching := x.TermsMatching(x.Class(p.Namespace, p.Labels))
			for name, term := range x.terms {
				if want := matchesPod(s, &Matcher{Terms: []MatchTerm{term.Match}}, p, true); want != slices.Contains(matching, term) {
					t.Fatalf("term %q matches %s: got %t, want %t", name, p.UID, !want, want)
				}
			}
		}
	}
}

// reader imitates a score cache: it reads nodes again only if the change log names them.
type reader struct {
	epoch    uint64
	counters int   // number of counters
	position int64 // in the change log
	nodes    map[NodeID]string
}

// deletedNode is the result of readNode for a node that does not exist.
const deletedNode = "deleted"

// readNode returns what a score cache reads of a node, and its static part. static is the current
// static part; if it is empty, readNode computes it.
func readNode(x *Index, id NodeID, static string, counters []*DomainCounter) (all, newStatic string) {
	n := x.state.Node(id)
	if n == nil {
		return deletedNode, ""
	}
	if static == "" {
		static = fmt.Sprint(n.Model.Labels, n.Model.Taints, n.Model.Allocatable, n.Model.AllocatablePods)
		for _, d := range slices.Sorted(maps.Keys(x.nodeValues)) {
			static += fmt.Sprint(d, x.nodeValues[d].Values[id])
		}
	}
	out := fmt.Sprint(static, x.Rows[id], x.Ephemeral[id], x.NameHashes[id])
	for _, c := range counters {
		if c.Topology.FineGrained {
			out += fmt.Sprint(" ", c.OnNode(id))
		}
	}
	return out, static
}

func (r *reader) catchUp(t *testing.T, x *Index, counters []*DomainCounter, statics map[NodeID]string) {
	t.Helper()
	entries, ok := x.Log(r.position)
	if !ok || r.epoch != x.Epoch || r.nodes == nil {
		r.nodes, r.epoch, r.position = map[NodeID]string{}, x.Epoch, x.LogEnd()
		for id := range x.Rows {
			if x.Rows[id].Exists {
				r.nodes[NodeID(id)], statics[NodeID(id)] = readNode(x, NodeID(id), "", counters)
			}
		}
		return
	}
	from := r.position
	for i, id := range entries {
		if !x.IsLast(id, from+int64(i)) {
			continue
		}
		if x.StaticChangedSince(id, from) {
			statics[id] = ""
		}
		r.nodes[id], statics[id] = readNode(x, id, statics[id], counters)
	}
	r.position = x.LogEnd()
	for id := range x.Rows {
		want, _ := readNode(x, NodeID(id), "", counters)
		if got, ok := r.nodes[NodeID(id)]; ok != (want != deletedNode) && got != deletedNode || ok && got != want {
			t.Fatalf("node %d: a reader of the change log has %q, want %q", id, got, want)
		}
	}
}

func checkOrder(t *testing.T, s *State, x *Index) {
	t.Helper()
	ranks, byRank, _ := x.Ranks()
	want := slices.Clone(s.NodeIDs())
	slices.SortFunc(want, func(a, b NodeID) int { return cmp.Compare(s.Node(a).NameHash, s.Node(b).NameHash) })
	got := slices.DeleteFunc(slices.Clone(byRank), func(id NodeID) bool { return id < 0 })
	if !slices.Equal(got, want) {
		t.Fatalf("order %v, want %v", got, want)
	}
	for r, id := range byRank {
		if id >= 0 && int(ranks[id]) != r {
			t.Fatalf("rank of %d is %d, want %d", id, ranks[id], r)
		}
	}
}

// indexStep applies a change that matters to the index.
func (g gen) indexStep(t *testing.T, v forkedState) {
	switch g.IntN(12) {
	case 0:
		if g.IntN(3) == 0 {
			v.s.RemoveNamespace(g.pick("x", "y"))
			return
		}
		ns := model.Namespace{Name: g.pick("x", "y"), Labels: model.LabelsOf(map[string]string{"team": g.pick("a", "b")})}
		v.s.UpsertNamespace(ns)
	case 1: // a heartbeat
		if ids := v.s.NodeIDs(); len(ids) > 0 {
			n := *v.s.Node(ids[g.IntN(len(ids))]).Model
			n.ResourceVersion += "1"
			n.Labels = slices.Clone(n.Labels)
			switch g.IntN(5) { // or a single change
			case 0:
				n.Taints = append(slices.Clone(n.Taints), model.Taint{Key: "more"})
			case 1:
				n.Taints = nil
			case 2:
				n.Labels[0].Value = "a"
			case 3:
				n.AllocatablePods++
			}
			v.s.UpsertNode(&n)
			v.ref.nodes[n.Name] = &n
		}
	default:
		g.step(t, v)
	}
}

// TestIndexEqualsRecount compares an Index with a recount after random operations.
func TestIndexEqualsRecount(t *testing.T) {
	for seed := range uint64(rounds(40)) {
		g := gen{rand.New(rand.NewPCG(seed, 2))}
		v := forkedState{New(), newReferenceState()}
		for range g.IntN(100) { // before the index exists
			g.indexStep(t, v)
		}
		x := v.s.Index()
		x.thresholds = thresholds{fineDomains: 1 + g.IntN(4), fineNodes: 1 + g.IntN(4), manyDomains: g.IntN(4)}
		x.minEntries = 1 + g.IntN(100)
		x.classes.minDropAt, x.classes.dropAt = 4, 4
		var defs []counterDef
		r, statics := reader{}, map[NodeID]string{}
		for range 250 {
			g.indexStep(t, v)
			if g.IntN(20) == 0 && len(defs) < 8 {
				defs = append(defs, g.counterDef())
			}
			if g.IntN(100) == 0 {
				x.Reset()
			}
			var counters []*DomainCounter
			for _, d := range defs {
				if g.IntN(4) > 0 { // not all are created at once
					c := x.counterOf(d)
					counters = append(counters, c)
					checkCounter(t, v.s, c, d)
				}
			}
			if len(counters) == len(defs) {
				if len(defs) != r.counters { // new counters: read all nodes
					r.nodes, r.counters = nil, len(defs)
				}
				r.catchUp(t, x, counters, statics)
			}
			if g.IntN(10) == 0 {
				checkTerms(t, v.s, x)
				checkOrder(t, v.s, x)
			}
		}
	}
}
