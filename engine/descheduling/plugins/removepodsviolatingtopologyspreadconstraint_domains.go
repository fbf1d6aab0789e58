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

// topologyDomain are the counted pods of one domain.
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

// findDomains finds the eligible nodes and domains.
func (g *spreadConstraint) findDomains(s *nodeDomains) {
	g.nodes, g.keyDomains = s, s.forKey(g.TopologyKey)
	selector := &g.sample.Spec.NodeSelector
	constrained := !g.IgnoreAffinity && (len(selector.Labels) > 0 || selector.HasRequired)
	g.domainIndex = make([]int32, len(g.keyDomains.values))
	if !constrained && !g.HonorTaints {
		for i := range g.domainIndex {
			g.domainIndex[i] = int32(i)
		}
	} else {
		for i := range g.domainIndex {
			g.domainIndex[i] = -1
		}
		g.eligible = make([]bool, len(s.nodes))
		for i, n := range s.nodes {
			g.eligible[i] = (!constrained || descheduling.MatchesNodeAffinity(g.sample, n)) && (!g.HonorTaints || descheduling.ToleratesTaints(g.sample, n, descheduling.IsHardTaint))
			if d := g.keyDomains.byNode[i]; g.eligible[i] && d >= 0 {
				g.domainIndex[d] = 0
			}
		}
	}
	for d, v := range g.keyDomains.values {
		if g.domainIndex[d] >= 0 {
			g.domainIndex[d] = int32(len(g.domains))
			g.domains = append(g.domains, &topologyDomain{value: v})
		}
	}
}

// countPods counts the pods per domain. As in the Kubernetes descheduler, a pod on an
// ineligible node makes its domain count in compatible mode; in a plan it does not count, as
// for the scheduler.
func (g *spreadConstraint) countPods(r *descheduling.Round, s *namespacePods) {
	for _, p := range s.matching(g.selector) {
		n := p.node
		if g.keyDomains.byNode[n] < 0 {
			continue
		}
		value := g.keyDomains.byNode[n]
		if r.Planned() && !g.isEligible(int(n)) {
			continue
		}
		if g.domainIndex[value] < 0 {
			g.domainIndex[value] = int32(len(g.domains))
			g.domains = append(g.domains, &topologyDomain{value: g.keyDomains.values[value]})
		}
		c := g.domains[g.domainIndex[value]]
		c.pods = append(c.pods, p.pod)
		c.size++
	}
}

// isEligible reports whether a pod of the constraint can run on the node with the index.
func (g *spreadConstraint) isEligible(i int) bool { return len(g.eligible) == 0 || g.eligible[i] }

// domainOf returns the domain of n, or nil if it does not count.
func (g *spreadConstraint) domainOf(n *descheduling.Node) *topologyDomain {
	i, found := slices.BinarySearchFunc(g.nodes.nodes, n, func(a, b *descheduling.Node) int { return cmp.Compare(a.Name, b.Name) })
	if !found || g.keyDomains.byNode[i] < 0 || !g.isEligible(i) || g.domainIndex[g.keyDomains.byNode[i]] < 0 {
		return nil
	}
	return g.domains[g.domainIndex[g.keyDomains.byNode[i]]]
}

// isBalanced reports whether the skew is within maxSkew.
func (g *spreadConstraint) isBalanced() bool {
	if len(g.domains) == 0 {
		return true
	}
	largest := 0
	for _, c := range g.domains {
		largest = max(largest, c.size)
	}
	return largest-g.smallestSize() <= int(g.MaxSkew)
}

// smallestSize returns the size of the smallest domain.
func (g *spreadConstraint) smallestSize() int {
	n := math.MaxInt
	for _, c := range g.domains {
		n = min(n, c.size)
	}
	return n
}
