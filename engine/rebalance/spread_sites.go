package rebalance

import (
	"cmp"
	"math"
	"slices"

	"github.com/berthproject/berth/engine/model"
)

// sites are nodes by the domains of topology keys.
type sites struct {
	nodes []*Node
	keys  map[string]*domains
}

// domains are the values of one key.
type domains struct {
	values []string // sorted
	of     []int32  // by index of node: of its value; -1: the node has none
}

func newSites(nodes []*Node) *sites { return &sites{nodes: nodes, keys: map[string]*domains{}} }

func (s *sites) by(key string) *domains {
	if d := s.keys[key]; d != nil {
		return d
	}
	d := &domains{of: make([]int32, len(s.nodes))}
	at := map[string]int32{}
	for _, n := range s.nodes {
		if v, there := n.Labels.Get(key); there {
			if _, known := at[v]; !known {
				at[v] = 0
				d.values = append(d.values, v)
			}
		}
	}
	slices.Sort(d.values)
	for i, v := range d.values {
		at[v] = int32(i)
	}
	for i, n := range s.nodes {
		d.of[i] = -1
		if v, there := n.Labels.Get(key); there {
			d.of[i] = at[v]
		}
	}
	s.keys[key] = d
	return d
}

// crowd are the pods that count in one domain of a constraint.
type crowd struct {
	value string // of the topology key
	pods  []*Pod
	size  int // how many by now
}

// spreadGroup is one constraint, as all pods of a namespace have it that have it alike.
type spreadGroup struct {
	*model.SpreadConstraint
	selector *model.Selector // with what matchLabelKeys add
	sample   *Pod            // one of the pods
	sites    *sites
	key      *domains
	eligible []bool // by index of node; nil: all
	// crowds are those of the domains that count, by value; at says where each value of the key is among them, -1: nowhere.
	crowds []*crowd
	at     []int32
}

// prepare finds the nodes and domains that count for the constraint.
func (g *spreadGroup) prepare(s *sites) {
	g.sites, g.key = s, s.by(g.TopologyKey)
	sel := &g.sample.Spec.NodeSelector
	choosy := !g.IgnoreAffinity && (len(sel.Labels) > 0 || sel.HasRequired)
	g.at = make([]int32, len(g.key.values))
	if !choosy && !g.HonorTaints {
		for i := range g.at {
			g.at[i] = int32(i)
		}
	} else {
		for i := range g.at {
			g.at[i] = -1
		}
		g.eligible = make([]bool, len(s.nodes))
		for i, n := range s.nodes {
			g.eligible[i] = (!choosy || SelectsNode(g.sample, n)) && (!g.HonorTaints || Bears(g.sample, n, hard))
			if d := g.key.of[i]; g.eligible[i] && d >= 0 {
				g.at[d] = 0
			}
		}
	}
	for d, v := range g.key.values {
		if g.at[d] >= 0 {
			g.at[d] = int32(len(g.crowds))
			g.crowds = append(g.crowds, &crowd{value: v})
		}
	}
}

// count fills the crowds. A pod on a node that does not count makes its domain count, as the Kubernetes descheduler
// has it; in a plan it counts nowhere, as for the scheduler.
func (g *spreadGroup) count(r *Round, s *space) {
	for _, p := range s.matching(g.selector) {
		n := p.node
		if g.key.of[n] < 0 {
			continue
		}
		value := g.key.of[n]
		if g.eligible != nil && !g.eligible[n] && r.Planned() {
			continue
		}
		if g.at[value] < 0 {
			g.at[value] = int32(len(g.crowds))
			g.crowds = append(g.crowds, &crowd{value: g.key.values[value]})
		}
		c := g.crowds[g.at[value]]
		c.pods = append(c.pods, p.pod)
		c.size++
	}
}

// crowdOf is that of a node's domain; nil: pods there do not count.
func (g *spreadGroup) crowdOf(n *Node) *crowd {
	i, there := slices.BinarySearchFunc(g.sites.nodes, n, func(a, b *Node) int { return cmp.Compare(a.Name, b.Name) })
	if !there || g.key.of[i] < 0 || g.eligible != nil && !g.eligible[i] || g.at[g.key.of[i]] < 0 {
		return nil
	}
	return g.crowds[g.at[g.key.of[i]]]
}

// balanced says whether no two domains differ by more than maxSkew.
func (g *spreadGroup) balanced() bool {
	if len(g.crowds) == 0 {
		return true
	}
	most := 0
	for _, c := range g.crowds {
		most = max(most, c.size)
	}
	return most-g.least() <= int(g.MaxSkew)
}

// least is the size of the smallest crowd.
func (g *spreadGroup) least() int {
	n := math.MaxInt
	for _, c := range g.crowds {
		n = min(n, c.size)
	}
	return n
}
