package cluster

import (
	"slices"

	"github.com/berthproject/berth/engine/model"
)

// Topology groups all nodes by the value of one label. Each value is a domain with an interned ID.
type Topology struct {
	Key string // empty: every node is a domain
	// DomainOf is the domain by NodeID; 0 if the label is missing.
	DomainOf []int32
	// Members are the nodes by domain ID in no particular order.
	Members [][]NodeID
	// NumDomains is the number of domains that have nodes.
	NumDomains int
	// FineGrained is set if there are many small domains. A counter that changes then adds all nodes of
	// its domain to the change log. Otherwise each decision reads all domains.
	FineGrained bool

	thresholds *thresholds
	nodes      int              // number of nodes in a domain
	values     map[string]int32 // domain ID by value, with the prefix of domainValue
	names      []string         // values by domain ID; empty for 0 and free IDs
	free       []int32          // IDs of removed domains
}

// thresholds are the sizes at which data structures change.
type thresholds struct {
	// A topology becomes fine-grained if it has more than fineDomains domains of at most fineNodes nodes on average. As
	// hysteresis, it stays fine-grained above 3/4 of fineDomains and up to 5/4 of fineNodes.
	fineDomains, fineNodes int
	// manyDomains is the number of domains above which a counter maintains its minimum instead of searching for it.
	manyDomains int
}

// SetThresholds sets the sizes at which data structures change, for tests and benchmarks.
// Call it before the index is used.
func (x *Index) SetThresholds(fineDomains, fineNodes, manyDomains int) {
	x.thresholds = thresholds{fineDomains, fineNodes, manyDomains}
}

func newTopology(key string, limits *thresholds) *Topology {
	return &Topology{Key: key, thresholds: limits, FineGrained: key == "", values: map[string]int32{}, names: []string{""}, Members: make([][]NodeID, 1)}
}

// domainValue returns a label value prefixed with "=", or "" if the label is missing,
// because an empty value is a domain, too.
func domainValue(n *model.Node, key string) string {
	if v, ok := n.Labels.Get(key); ok {
		return "=" + v
	}
	return ""
}

// set moves a node to the domain of value, or to none for "". It reports whether FineGrained changed.
func (t *Topology) set(id NodeID, value string) (changed bool) {
	for len(t.DomainOf) <= int(id) {
		t.DomainOf = append(t.DomainOf, 0)
	}
	old := t.DomainOf[id]
	if t.names[old] == value {
		return false
	}
	if old != 0 {
		t.nodes--
		m := t.Members[old]
		i := slices.Index(m, id)
		m[i] = m[len(m)-1]
		t.Members[old] = m[:len(m)-1]
		if len(m) == 1 {
			t.NumDomains--
			delete(t.values, t.names[old])
			t.names[old] = ""
			t.free = append(t.free, old)
		}
	}
	t.DomainOf[id] = 0
	if value != "" {
		t.nodes++
		t.DomainOf[id] = t.intern(value)
		t.Members[t.DomainOf[id]] = append(t.Members[t.DomainOf[id]], id)
	}
	return t.updateFineGrained()
}

// intern returns the ID of a value's domain, creating it if necessary.
func (t *Topology) intern(value string) int32 {
	if v, ok := t.values[value]; ok {
		return v
	}
	t.NumDomains++
	var v int32
	if k := len(t.free); k > 0 {
		v = t.free[k-1]
		t.free = t.free[:k-1]
	} else {
		v = int32(len(t.names))
		t.names = append(t.names, "")
		t.Members = append(t.Members, nil)
	}
	t.names[v] = value
	t.values[value] = v
	return v
}

// updateFineGrained updates FineGrained and reports whether it changed.
func (t *Topology) updateFineGrained() (changed bool) {
	if t.Key == "" {
		return false
	}
	limits := t.thresholds
	fineGrained := t.NumDomains > limits.fineDomains && t.nodes <= limits.fineNodes*t.NumDomains
	if t.FineGrained {
		fineGrained = t.NumDomains > limits.fineDomains*3/4 && t.nodes <= limits.fineNodes*5/4*t.NumDomains
	}
	changed = fineGrained != t.FineGrained
	t.FineGrained = fineGrained
	return changed
}

// HasEmpty reports whether the empty value is one of the domains.
func (t *Topology) HasEmpty() bool { return t.values["="] != 0 }

// Topology returns the topology of a label key.
func (x *Index) Topology(key string) *Topology {
	if key == "" {
		return x.perNode
	}
	t := x.topologies[key]
	if t == nil {
		t = newTopology(key, &x.thresholds)
		t.DomainOf = make([]int32, len(x.Rows))
		for _, id := range x.state.NodeIDs() {
			t.set(id, domainValue(x.state.nodes[id].Model, key))
		}
		x.topologies[key] = t
	}
	return t
}

// OnAllNodes reports whether all nodes have the label of a topology.
func (x *Index) OnAllNodes(t *Topology) bool { return t.nodes == x.state.NumNodes() }
