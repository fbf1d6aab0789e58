package cluster

import (
	"slices"

	"github.com/berthproject/berth/engine/model"
)

// Topology is one label key over all nodes, its values interned: the topology
// domains of that key.
type Topology struct {
	Key string // empty: every node is a domain of its own
	// DomainOf are the domains of the nodes by NodeID; 0 where the label is missing.
	DomainOf []int32
	// Members are the nodes of a domain, by its id, in no particular order.
	Members [][]NodeID
	// NumDomains is the number of domains that have nodes.
	NumDomains int
	// FineGrained: the domains are so many and so small that it is cheaper to log all
	// nodes of a domain when a counter of it changes than to look at every domain
	// at each decision.
	FineGrained bool

	thresholds *thresholds
	nodes      int
	values     map[string]int32
	names      []string // by id
	free       []int32
}

// thresholds are the sizes at which structures change.
type thresholds struct {
	// A column is fine with more domains than this of fewer nodes than that. It
	// ceases to be a quarter further, so that it does not flap.
	fineDomains, fineNodes int
	// manyDomains: up to so many a minimum is searched, beyond it is kept.
	manyDomains int
}

// SetThresholds sets the sizes at which structures change, for tests and measurements:
// from how many domains of up to how many nodes on a column is fine, and from how many
// domains on a minimum is kept. It must come before anything is asked for.
func (x *Index) SetThresholds(fineDomains, fineNodes, manyDomains int) {
	x.thresholds = thresholds{fineDomains, fineNodes, manyDomains}
}

func newTopology(key string, l *thresholds) *Topology {
	return &Topology{Key: key, thresholds: l, FineGrained: key == "", values: map[string]int32{}, names: []string{""}, Members: make([][]NodeID, 1)}
}

// domainValue is a label's value marked as present, or "" when it is missing: an
// empty value is a domain, too.
func domainValue(n *model.Node, key string) string {
	if v, ok := n.Labels.Get(key); ok {
		return "=" + v
	}
	return ""
}

// set puts a node into a domain, "" into none. It returns 1 when Fine changed.
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

// HasEmpty says whether the empty value is one of the domains.
func (c *Topology) HasEmpty() bool { return c.values["="] != 0 }

// Topology returns the column of a label key.
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
