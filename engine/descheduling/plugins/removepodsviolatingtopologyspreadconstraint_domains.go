package plugins

import (
	"cmp"
	"math"
	"slices"

	"github.com/berthproject/berth/engine/descheduling"
	"github.com/berthproject/berth/engine/model"
)

// nodeDomains maps nodes to topology domains.
type nodeDomains struct {
	nodes []*descheduling.Node
	keys  map[string]*keyDomains
}

// keyDomains are the domains of one topology key.
type keyDomains struct {
	values []string // sorted
	byNode []int32  // by node index: index of its value, or -1
}

func newNodeDomains(nodes []*descheduling.Node) *nodeDomains {
	return &nodeDomains{nodes: nodes, keys: map[string]*keyDomains{}}
}

func (s *nodeDomains) forKey(key string) *keyDomains {
	if d := s.keys[key]; d != nil {
		return d
	}
	d := &keyDomains{byNode: make([]int32, len(s.nodes))}
	index := map[string]int32{}
	for _, n := range s.nodes {
		if v, found := n.Labels.Get(key); found {
			if _, ok := index[v]; !ok {
				index[v] = 0
				d.values = append(d.values, v)
			}
		}
	}
	slices.Sort(d.values)
	for i, v := range d.values {
		index[v] = int32(i)
	}
	for i, n := range s.nodes {
		d.byNode[i] = -1
		if v, found := n.Labels.Get(key); found {
			d.byNode[i] = index[v]
		}
	}
	s.keys[key] = d
	return d
}

// topologyDomain is a topology domain with its counted pods.
type topologyDomain struct {
	value string // of the topology key
	pods  []*descheduling.Pod
	size  int // current number of pods
}

// spreadConstraint is a constraint shared by equal pods of a namespace.
type spreadConstraint struct {
	*model.SpreadConstraint
	selector   *model.Selector   // including matchLabelKeys
	sample     *descheduling.Pod // one of the pods
	nodes      *nodeDomains
	keyDomains *keyDomains
	eligible   []bool // by node index; nil means all
	// domains are the domains that count; domainIndex maps each value of the key to its index in
	// domains, or -1.
	domains     []*topologyDomain
	domainIndex []int32
}

// findDomains determines the eligible nodes of the constraint and the domains that have one.
func (c *spreadConstraint) findDomains(s *nodeDomains) {
	c.nodes, c.keyDomains = s, s.forKey(c.TopologyKey)
	selector := &c.sample.Spec.NodeSelector
	constrained := !c.IgnoreAffinity && (len(selector.Labels) > 0 || selector.HasRequired)
	c.domainIndex = make([]int32, len(c.keyDomains.values))
	if !constrained && !c.HonorTaints {
		for i := range c.domainIndex {
			c.domainIndex[i] = int32(i)
		}
	} else {
		for i := range c.domainIndex {
			c.domainIndex[i] = -1
		}
		c.eligible = make([]bool, len(s.nodes))
		for i, n := range s.nodes {
			c.eligible[i] = (!constrained || descheduling.MatchesNodeAffinity(c.sample, n)) && (!c.HonorTaints || descheduling.ToleratesTaints(c.sample, n, descheduling.IsHardTaint))
			if d := c.keyDomains.byNode[i]; c.eligible[i] && d >= 0 {
				c.domainIndex[d] = 0
			}
		}
	}
	for d, v := range c.keyDomains.values {
		if c.domainIndex[d] >= 0 {
			c.domainIndex[d] = int32(len(c.domains))
			c.domains = append(c.domains, &topologyDomain{value: v})
		}
	}
}

// countPods counts the pods per domain. As in the Kubernetes descheduler, a pod on an ineligible node makes its domain
// count in compatible mode. In a plan it does not count, as in the scheduler.
func (c *spreadConstraint) countPods(r *descheduling.Round, s *namespacePods) {
	for _, p := range s.matchingPods(c.selector) {
		n := p.node
		if c.keyDomains.byNode[n] < 0 {
			continue
		}
		value := c.keyDomains.byNode[n]
		if r.Planned() && !c.isEligible(int(n)) {
			continue
		}
		if c.domainIndex[value] < 0 {
			c.domainIndex[value] = int32(len(c.domains))
			c.domains = append(c.domains, &topologyDomain{value: c.keyDomains.values[value]})
		}
		d := c.domains[c.domainIndex[value]]
		d.pods = append(d.pods, p.pod)
		d.size++
	}
}

// isEligible reports whether a pod of the constraint can run on the node with the index.
func (c *spreadConstraint) isEligible(i int) bool { return len(c.eligible) == 0 || c.eligible[i] }

// domainOf returns the domain of n, or nil if it does not count.
func (c *spreadConstraint) domainOf(n *descheduling.Node) *topologyDomain {
	i, found := slices.BinarySearchFunc(c.nodes.nodes, n, func(a, b *descheduling.Node) int { return cmp.Compare(a.Name, b.Name) })
	if !found || c.keyDomains.byNode[i] < 0 || !c.isEligible(i) || c.domainIndex[c.keyDomains.byNode[i]] < 0 {
		return nil
	}
	return c.domains[c.domainIndex[c.keyDomains.byNode[i]]]
}

// isBalanced reports whether the skew is within maxSkew.
func (c *spreadConstraint) isBalanced() bool {
	if len(c.domains) == 0 {
		return true
	}
	largest := 0
	for _, d := range c.domains {
		largest = max(largest, d.size)
	}
	return largest-c.smallestSize() <= int(c.MaxSkew)
}

func (c *spreadConstraint) smallestSize() int {
	n := math.MaxInt
	for _, d := range c.domains {
		n = min(n, d.size)
	}
	return n
}
