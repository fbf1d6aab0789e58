package cluster

import (
	"slices"

	"github.com/berthproject/berth/engine/model"
)

// Column is one label key over all nodes, its values interned: the topology
// domains of that key.
type Column struct {
	Key string // empty: every node is a domain of its own
	// IDs are the domains of the nodes by NodeID; 0 where the label is missing.
	IDs []int32
	// Members are the nodes of a domain, by its id, in no particular order.
	Members [][]NodeID
	// Domains is the number of domains that have nodes.
	Domains int
	// Fine: the domains are so many and so small that it is cheaper to log all
	// nodes of a domain when a counter of it changes than to look at every domain
	// at each decision.
	Fine bool

	limits *limits
	nodes  int
	values map[string]int32
	names  []string // by id
	free   []int32
}

// limits are the sizes at which structures change.
type limits struct {
	// A column is fine with more domains than this of fewer nodes than that. It
	// ceases to be a quarter further, so that it does not flap.
	fineDomains, fineNodes int
	// manyDomains: up to so many a minimum is searched, beyond it is kept.
	manyDomains int
}

// Tune sets the sizes at which structures change, for tests and measurements:
// from how many domains of up to how many nodes on a column is fine, and from how many
// domains on a minimum is kept. It must come before anything is asked for.
func (x *Index) Tune(fineDomains, fineNodes, manyDomains int) {
	x.limits = limits{fineDomains, fineNodes, manyDomains}
}

func newColumn(key string, l *limits) *Column {
	return &Column{Key: key, limits: l, Fine: key == "", values: map[string]int32{}, names: []string{""}, Members: make([][]NodeID, 1)}
}

// labelOf is a label's value marked as present, or "" when it is missing: an
// empty value is a domain, too.
func labelOf(n *model.Node, key string) string {
	if v, ok := n.Labels.Get(key); ok {
		return "=" + v
	}
	return ""
}

// set puts a node into a domain, "" into none. It returns 1 when Fine changed.
func (c *Column) set(id NodeID, value string) uint64 {
	for len(c.IDs) <= int(id) {
		c.IDs = append(c.IDs, 0)
	}
	old := c.IDs[id]
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
			c.Domains--
			delete(c.values, c.names[old])
			c.names[old] = ""
			c.free = append(c.free, old)
		}
	}
	c.IDs[id] = 0
	if value != "" {
		c.nodes++
		c.IDs[id] = c.intern(value)
		c.Members[c.IDs[id]] = append(c.Members[c.IDs[id]], id)
	}
	return c.judge()
}

func (c *Column) intern(value string) int32 {
	if v, ok := c.values[value]; ok {
		return v
	}
	c.Domains++
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

func (c *Column) judge() uint64 {
	if c.Key == "" {
		return 0
	}
	l := c.limits
	fine := c.Domains > l.fineDomains && c.nodes <= l.fineNodes*c.Domains
	if c.Fine {
		fine = c.Domains > l.fineDomains*3/4 && c.nodes <= l.fineNodes*5/4*c.Domains
	}
	if fine == c.Fine {
		return 0
	}
	c.Fine = fine
	return 1
}

// HasEmpty says whether the empty value is one of the domains.
func (c *Column) HasEmpty() bool { return c.values["="] != 0 }

// Column returns the column of a label key.
func (x *Index) Column(key string) *Column {
	if key == "" {
		return x.self
	}
	c := x.columns[key]
	if c == nil {
		c = newColumn(key, &x.limits)
		c.IDs = make([]int32, len(x.Rows))
		for _, id := range x.state.NodeIDs() {
			c.set(id, labelOf(x.state.nodes[id].Model, key))
		}
		x.columns[key] = c
	}
	return c
}
