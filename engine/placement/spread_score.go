package placement

import (
	"fmt"
	"math"
	"slices"

	"github.com/berthproject/berth/engine/model"
)

// softSpread is a pod's soft constraints with the counts of the domains that
// the feasible nodes are in.
type softSpread struct {
	a       *attempt
	cs      []constraint
	all     []domains // by constraint; not used for the host name, counted a node
	weights []float64 // ln(domains+2), by constraint
	// strict: nodes that lack one of the keys are left out. Not so with
	// kube-scheduler's own default constraints, since many clusters have no zones.
	strict bool
}

// scoreSpread scores how few matching pods a node's domains have. The more
// domains a key has, the more each pod weighs.
func (a *attempt) scoreSpread(feasible []*site) scoring {
	if err := a.firstFault(model.FaultSoftSpread); err != nil {
		return scoring{err: fmt.Errorf("calculating preScoreState: obtaining pod's soft topology spread constraints: %w", err)}
	}
	cs := a.constraints(false)
	if len(cs) == 0 {
		return scoring{}
	}
	s := &softSpread{a: a, cs: cs, all: make([]domains, len(cs)), weights: make([]float64, len(cs)),
		strict: len(a.pod.Spec.Spread) > 0 || !a.profile.cfg.Spread.System}
	s.open(feasible)
	s.count()
	return scoring{raw: s.raw, normalise: s.normalise}
}

// ignored says whether a node takes no part in scoring.
func (s *softSpread) ignored(n *model.Node) bool { return s.strict && !hasAllKeys(s.cs, n) }

// open makes the domains of the feasible nodes, and the weights of the keys. A
// missing label counts as a domain with an empty value, as upstream.
func (s *softSpread) open(feasible []*site) {
	taking := 0
	for _, st := range feasible {
		if s.ignored(st.node) {
			continue
		}
		taking++
		for k := range s.cs {
			if s.cs[k].TopologyKey != HostnameKey {
				value, _ := st.node.Labels.Get(s.cs[k].TopologyKey)
				s.all[k].add(value, 0)
			}
		}
	}
	for k := range s.cs {
		size := len(s.all[k].counts)
		if s.cs[k].TopologyKey == HostnameKey {
			size = taking
		}
		s.weights[k] = math.Log(float64(size + 2))
	}
}

// count adds the matching pods of all nodes, feasible or not, that count.
func (s *softSpread) count() {
	for i := range s.a.sites {
		st := &s.a.sites[i]
		if s.ignored(st.node) {
			continue
		}
		for k := range s.cs {
			value, _ := st.node.Labels.Get(s.cs[k].TopologyKey)
			if _, open := s.all[k].at[value]; open && s.a.counts(&s.cs[k], st.node) {
				s.all[k].add(value, s.a.matching(&s.cs[k], st.pods))
			}
		}
	}
}

// raw sums over the constraints, in their order, count times weight plus what
// maxSkew allows. The products must not be fused with the sums.
func (s *softSpread) raw(st *site) int64 {
	if s.ignored(st.node) {
		return 0
	}
	var sum float64
	for k := range s.cs {
		c := &s.cs[k]
		value, ok := st.node.Labels.Get(c.TopologyKey)
		if !ok {
			continue
		}
		var n int64
		if c.TopologyKey == HostnameKey {
			n = s.a.matching(c, st.pods)
		} else if i, open := s.all[k].at[value]; open {
			n = s.all[k].counts[i]
		}
		term := float64(float64(n)*s.weights[k]) + float64(c.MaxSkew-1)
		sum += term
	}
	return int64(math.Round(sum))
}

// normalise turns much into little: 100*(max+min-points)/max. Ignored nodes get
// 0 and take no part in min and max.
func (s *softSpread) normalise(sites []*site, points []int64) {
	var taking []int64
	for i, st := range sites {
		if !s.ignored(st.node) {
			taking = append(taking, points[i])
		}
	}
	if len(taking) == 0 {
		return // all are 0 already
	}
	least, most := slices.Min(taking), slices.Max(taking)
	for i, st := range sites {
		switch {
		case s.ignored(st.node):
			points[i] = 0
		case most == 0:
			points[i] = 100
		default:
			points[i] = 100 * (most + least - points[i]) / most
		}
	}
}
