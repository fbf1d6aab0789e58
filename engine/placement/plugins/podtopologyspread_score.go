package plugins

import (
	"fmt"
	"math"
	"slices"

	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/placement/framework"
)

// spreadScorer is a pod's soft constraints with the counts of the domains that
// the feasible nodes are in.
type spreadScorer struct {
	a           *framework.Evaluation
	constraints []Constraint
	counts      []domainCounts // by constraint; not used for the host name, counted a node
	weights     []float64      // ln(domains+2), by constraint
	// strict: nodes that lack one of the keys are left out. Not so with
	// kube-scheduler's own default constraints, since many clusters have no zones.
	strict bool
}

// scorePodTopologySpread scores how few matching pods a node's domains have. The more
// domains a key has, the more each pod weighs.
func scorePodTopologySpread(ev *framework.Evaluation, feasible []*framework.CandidateNode) framework.PreScoreState {
	if err := ev.FirstParseError(model.ParseErrorSoftSpread); err != nil {
		return framework.PreScoreState{Err: fmt.Errorf("calculating preScoreState: obtaining pod's soft topology spread constraints: %w", err)}
	}
	cs := SpreadConstraints(ev, false)
	if len(cs) == 0 {
		return framework.PreScoreState{}
	}
	s := &spreadScorer{a: ev, constraints: cs, counts: make([]domainCounts, len(cs)), weights: make([]float64, len(cs)),
		strict: len(ev.Pod.Spec.Spread) > 0 || !ev.Profile.Config().Spread.SystemDefaulting}
	s.initDomains(feasible)
	s.countPods()
	return framework.PreScoreState{Score: s.score, NormalizeScore: s.normalizeScore}
}

// ignored says whether a node takes no part in scoring.
func (s *spreadScorer) ignored(n *model.Node) bool { return s.strict && !HasAllKeys(s.constraints, n) }

// initDomains makes the domains of the feasible nodes, and the weights of the keys. A
// missing label counts as a domain with an empty value, as upstream.
func (s *spreadScorer) initDomains(feasible []*framework.CandidateNode) {
	taking := 0
	for _, st := range feasible {
		if s.ignored(st.Node) {
			continue
		}
		taking++
		for k := range s.constraints {
			if s.constraints[k].TopologyKey != framework.HostnameKey {
				value, _ := st.Node.Labels.Get(s.constraints[k].TopologyKey)
				s.counts[k].add(value, 0)
			}
		}
	}
	for k := range s.constraints {
		size := len(s.counts[k].counts)
		if s.constraints[k].TopologyKey == framework.HostnameKey {
			size = taking
		}
		s.weights[k] = math.Log(float64(size + 2))
	}
}

// countPods adds the matching pods of all nodes, feasible or not, that count.
func (s *spreadScorer) countPods() {
	for i := range s.a.Nodes {
		st := &s.a.Nodes[i]
		if s.ignored(st.Node) {
			continue
		}
		for k := range s.constraints {
			value, _ := st.Node.Labels.Get(s.constraints[k].TopologyKey)
			if _, open := s.counts[k].index[value]; open && MatchNodeInclusionPolicies(s.a, &s.constraints[k], st.Node) {
				s.counts[k].add(value, countPodsMatchSelector(s.a, &s.constraints[k], st.Pods))
			}
		}
	}
}

// score sums over the constraints, in their order, count times weight plus what
// maxSkew allows. The products must not be fused with the sums.
func (s *spreadScorer) score(st *framework.CandidateNode) int64 {
	if s.ignored(st.Node) {
		return 0
	}
	var sum float64
	for k := range s.constraints {
		c := &s.constraints[k]
		value, ok := st.Node.Labels.Get(c.TopologyKey)
		if !ok {
			continue
		}
		var n int64
		if c.TopologyKey == framework.HostnameKey {
			n = countPodsMatchSelector(s.a, c, st.Pods)
		} else if i, open := s.counts[k].index[value]; open {
			n = s.counts[k].counts[i]
		}
		term := float64(float64(n)*s.weights[k]) + float64(c.MaxSkew-1)
		sum += term
	}
	return int64(math.Round(sum))
}

// normalizeScore turns much into little: 100*(max+min-points)/max. Ignored nodes get
// 0 and take no part in min and max.
func (s *spreadScorer) normalizeScore(sites []*framework.CandidateNode, points []int64) {
	var taking []int64
	for i, st := range sites {
		if !s.ignored(st.Node) {
			taking = append(taking, points[i])
		}
	}
	if len(taking) == 0 {
		return // all are 0 already
	}
	least, most := slices.Min(taking), slices.Max(taking)
	for i, st := range sites {
		switch {
		case s.ignored(st.Node):
			points[i] = 0
		case most == 0:
			points[i] = 100
		default:
			points[i] = 100 * (most + least - points[i]) / most
		}
	}
}
