package plugins

import (
	"fmt"
	"math"
	"slices"

	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/placement/framework"
)

// spreadScorer scores by the soft constraints with the counts of the domains of feasible
// nodes.
type spreadScorer struct {
	ev          *framework.Evaluation
	constraints []Constraint
	counts      []domainCounts // by constraint; unused for the hostname key, which is counted per node
	weights     []float64      // ln(domains+2), by constraint
	// strict ignores nodes without one of the topology keys. It is not set for kube-scheduler's
	// default constraints, because many clusters have no zones.
	strict bool
}

// scorePodTopologySpread scores domains with fewer matching pods higher. The weight of a constraint
// grows with the number of domains of its topology key.
func scorePodTopologySpread(ev *framework.Evaluation, feasible []*framework.CandidateNode) framework.PreScoreState {
	if err := ev.FirstParseError(model.ParseErrorSoftSpread); err != nil {
		return framework.PreScoreState{Err: fmt.Errorf("calculating preScoreState: obtaining pod's soft topology spread constraints: %w", err)}
	}
	cs := SpreadConstraints(ev, false)
	if len(cs) == 0 {
		return framework.PreScoreState{}
	}
	s := &spreadScorer{ev: ev, constraints: cs, counts: make([]domainCounts, len(cs)), weights: make([]float64, len(cs)),
		strict: len(ev.Pod.Spec.Spread) > 0 || !ev.Profile.Config().Spread.SystemDefaulting}
	s.initDomains(feasible)
	s.countPods()
	return framework.PreScoreState{Score: s.score, NormalizeScore: s.normalizeScore}
}

// isIgnored reports whether a node does not take part in scoring.
func (s *spreadScorer) isIgnored(n *model.Node) bool {
	return s.strict && !HasAllKeys(s.constraints, n)
}

// initDomains creates the domains of the feasible nodes and the weights of the keys. As in
// kube-scheduler, a missing label counts as an empty value.
func (s *spreadScorer) initDomains(feasible []*framework.CandidateNode) {
	counted := 0
	for _, candidate := range feasible {
		if s.isIgnored(candidate.Node) {
			continue
		}
		counted++
		for k := range s.constraints {
			if s.constraints[k].TopologyKey != framework.HostnameKey {
				value, _ := candidate.Node.Labels.Get(s.constraints[k].TopologyKey)
				s.counts[k].add(value, 0)
			}
		}
	}
	for k := range s.constraints {
		size := len(s.counts[k].counts)
		if s.constraints[k].TopologyKey == framework.HostnameKey {
			size = counted
		}
		s.weights[k] = math.Log(float64(size + 2))
	}
}

// countPods counts the matching pods on all nodes, feasible or not.
func (s *spreadScorer) countPods() {
	for i := range s.ev.Nodes {
		candidate := &s.ev.Nodes[i]
		if s.isIgnored(candidate.Node) {
			continue
		}
		for k := range s.constraints {
			value, _ := candidate.Node.Labels.Get(s.constraints[k].TopologyKey)
			if _, ok := s.counts[k].index[value]; ok && MatchNodeInclusionPolicies(s.ev, &s.constraints[k], candidate.Node) {
				s.counts[k].add(value, countPodsMatchSelector(s.ev, &s.constraints[k], candidate.Pods))
			}
		}
	}
}

// score sums count times weight plus maxSkew-1 over the constraints in order. Products must not be
// fused with sums, so that all architectures return the same score.
func (s *spreadScorer) score(candidate *framework.CandidateNode) int64 {
	if s.isIgnored(candidate.Node) {
		return 0
	}
	var sum float64
	for k := range s.constraints {
		c := &s.constraints[k]
		value, ok := candidate.Node.Labels.Get(c.TopologyKey)
		if !ok {
			continue
		}
		var n int64
		if c.TopologyKey == framework.HostnameKey {
			n = countPodsMatchSelector(s.ev, c, candidate.Pods)
		} else if i, ok := s.counts[k].index[value]; ok {
			n = s.counts[k].counts[i]
		}
		term := float64(float64(n)*s.weights[k]) + float64(c.MaxSkew-1)
		sum += term
	}
	return int64(math.Round(sum))
}

// normalizeScore inverts the scores: 100*(max+min-score)/max. Ignored nodes get 0.
func (s *spreadScorer) normalizeScore(candidates []*framework.CandidateNode, points []int64) {
	var counted []int64
	for i, candidate := range candidates {
		if !s.isIgnored(candidate.Node) {
			counted = append(counted, points[i])
		}
	}
	if len(counted) == 0 {
		return // all scores are 0
	}
	lowest, highest := slices.Min(counted), slices.Max(counted)
	for i, candidate := range candidates {
		switch {
		case s.isIgnored(candidate.Node):
			points[i] = 0
		case highest == 0:
			points[i] = 100
		default:
			points[i] = 100 * (highest + lowest - points[i]) / highest
		}
	}
}
