package cluster

import (
	"slices"

	"github.com/berthproject/berth/engine/model"
)

// Topology is one label key over all nodes. Its values are interned as domains.
type Topology struct {
	Key string // empty: every node is a domain
	// DomainOf is the domain by NodeID; 0 if the label is missing.
	DomainOf []int32
	// Members are the nodes by domain ID in no particular order.
	Members [][]NodeID
	// NumDomains is the number of domains that have nodes.
	NumDomains int
	// FineGrained is set if the domains are so many and so small that a changed counter logs
	// all nodes of its domain. Otherwise each decision reads all domains.
	FineGrained bool

	thresholds *thresholds
	nodes      int
	values     map[string]int32
	names      []string // by id
	free       []int32
}

// thresholds are the sizes at which data structures change.
type thresholds struct {
	// A topology is fine-grained if it has more than fineDomains domains of fewer than
	// fineNodes nodes on average. The limits to leave that state are a quarter away, as
	// hysteresis.
	fineDomains, fineNodes int
	// manyDomains: with more domains a counter maintains its minimum instead of searching it.
	manyDomains int
}

// SetThresholds sets the sizes at which data structures change, for tests and benchmarks.
// Call it before the index is used.
func (x *Index) SetThresholds(fineDomains, fineNodes, manyDomains int) {
	x.thresholds = thresholds{fineDomains, fineNodes, manyDomains}
}

func newTopology(key string, l *thresholds) *Topology {
	return &Topology{Key: key, thresholds: l, FineGrained: key == "", values: map[string]int32{}, names: []string{""}, Members: make([][]NodeID, 1)}
}

// domainValue returns a label value prefixed with "=", or "" if the label is missing,
// because an empty value is a domain, too.
func domainValue(n *model.Node, key string) string {
	if v, ok := n.Labels.Get(key); ok {
		return "=" + v
	}
	return ""
}

// set moves a node to a domain, or to none for "". It returns 1 if FineGrained changed.
func (c *Topology) set(id NodeID, value string) uint64 {
	for len(c.DomainOf) <= int(id) {
		c.DomainOf = append(c.DomainOf, 0)
	}
	old := c.DomainOf[id]
	if c.names[old] == value {
		return 0
	}
	if old != 0 {
		c.nodes--
		m := c.Members[old]
		i := slices.Index(m, id)
		m[i] = m[len(m)-1]
		c.Members[old] = m[:len(m)-1]
		if len(m) == 1 {
			c.NumDomains--
			delete(c.values, c.names[old])
			c.names[old] = ""
			c.free = append(c.free, old)
		}
	}
	c.DomainOf[id] = 0
	if value != "" {
		c.nodes++
		c.DomainOf[id] = c.intern(value)
		c.Members[c.DomainOf[id]] = append(c.Members[c.DomainOf[id]], id)
	}
	return c.updateFineGrained()
}

func (c *Topology) intern(value string) int32 {
	if v, ok := c.values[value]; ok {
		return v
	}
	c.NumDomains++
	var v int32
	if k := len(c.free); k > 0 {
		v = c.free[k-1]
		c.free = c.free[:k-1]
	} else {
		v = int32(len(c.names))
		c.names = append(c.names, "")
		c.Members = append(c.Members, nil)
	}
	c.names[v] = value
	c.values[value] = v
	return v
}

func (c *Topology) updateFineGrained() uint64 {
	if c.Key == "" {
		return 0
	}
	l := c.thresholds
	fine := c.NumDomains > l.fineDomains && c.nodes <= l.fineNodes*c.NumDomains
	if c.FineGrained {
		fine = c.NumDomains > l.fineDomains*3/4 && c.nodes <= l.fineNodes*5/4*c.NumDomains
	}
	if fine == c.FineGrained {
		return 0
	}
	c.FineGrained = fine
	return 1
}

// HasEmpty reports whether the empty value is one of the domains.
func (c *Topology) HasEmpty() bool { return c.values["="] != 0 }

// Topology returns the topology of a label key.
func (x *Index) Topology(key string) *Topology {
	if key == "" {
		return x.perNode
	}
	c := x.topologies[key]
	if c == nil {
		c = newTopology(key, &x.thresholds)
		c.DomainOf = make([]int32, len(x.Rows))
		for _, id := range x.state.NodeIDs() {
			c.set(id, domainValue(x.state.nodes[id].Model, key))
		}
		x.topologies[key] = c
	}
	return c
}
