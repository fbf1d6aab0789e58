package plugins

import (
	"slices"

	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/placement/framework"
)

// interPodScorer sums the weights of affinity terms by domain.
type interPodScorer struct {
	*TermMatcher
	keys    []string // topology keys in order of first use
	weights map[topologyPair]int64
}

// scoreInterPodAffinity scores by the pod's preferred terms, those of existing pods, and
// the required affinity of existing pods with HardPodAffinityWeight.
func scoreInterPodAffinity(ev *framework.Evaluation, _ []*framework.CandidateNode) framework.PreScoreState {
	args, spec := &ev.Profile.Config().InterPod, ev.Pod.Spec
	hasPreferredTerms := len(spec.PreferredAffinity)+len(spec.PreferredAntiAffinity) > 0
	if args.IgnorePreferredTermsOfExistingPods && !hasPreferredTerms {
		return framework.PreScoreState{}
	}
	s := &interPodScorer{TermMatcher: NewTermMatcher(ev), weights: map[topologyPair]int64{}}
	for i := range ev.Nodes {
		for _, p := range ev.Nodes[i].Pods {
			s.addPod(ev.Nodes[i].Node, p, args.HardPodAffinityWeight)
		}
	}
	if len(s.keys) == 0 {
		return framework.PreScoreState{}
	}
	return framework.PreScoreState{Score: s.score, NormalizeScore: func(_ []*framework.CandidateNode, points []int64) { normalizeMinMax(points) }}
}

// addPod adds the weights between the incoming pod and an existing one.
func (s *interPodScorer) addPod(n *model.Node, existing *model.Pod, hardWeight int64) {
	spec, existingSpec := s.ev.Pod.Spec, existing.Spec
	for i := range spec.PreferredAffinity {
		if t := &spec.PreferredAffinity[i]; s.MatchesExisting(&t.Term, existing) {
			s.add(n, t.Term.TopologyKey, int64(t.Weight))
		}
	}
	for i := range spec.PreferredAntiAffinity {
		if t := &spec.PreferredAntiAffinity[i]; s.MatchesExisting(&t.Term, existing) {
			s.add(n, t.Term.TopologyKey, -int64(t.Weight))
		}
	}
	if hardWeight > 0 {
		for i := range existingSpec.Affinity {
			if t := &existingSpec.Affinity[i]; s.MatchesIncoming(t) {
				s.add(n, t.TopologyKey, hardWeight)
			}
		}
	}
	for i := range existingSpec.PreferredAffinity {
		if t := &existingSpec.PreferredAffinity[i]; s.MatchesIncoming(&t.Term) {
			s.add(n, t.Term.TopologyKey, int64(t.Weight))
		}
	}
	for i := range existingSpec.PreferredAntiAffinity {
		if t := &existingSpec.PreferredAntiAffinity[i]; s.MatchesIncoming(&t.Term) {
			s.add(n, t.Term.TopologyKey, -int64(t.Weight))
		}
	}
}

func (s *interPodScorer) add(n *model.Node, key string, weight int64) {
	value, ok := n.Labels.Get(key)
	if !ok {
		return
	}
	if !slices.Contains(s.keys, key) {
		s.keys = append(s.keys, key)
	}
	s.weights[topologyPair{key, value}] += weight
}

func (s *interPodScorer) score(candidate *framework.CandidateNode) int64 {
	var sum int64
	for _, key := range s.keys {
		if value, ok := candidate.Node.Labels.Get(key); ok {
			sum += s.weights[topologyPair{key, value}]
		}
	}
	return sum
}

// normalizeMinMax maps the minimum to 0 and the maximum to 100, rounding down. If all scores
// are equal, they become 0.
func normalizeMinMax(points []int64) {
	lowest, highest := slices.Min(points), slices.Max(points)
	for i, v := range points {
		points[i] = 0
		if highest > lowest {
			points[i] = int64(float64(100 * float64(float64(v-lowest)/float64(highest-lowest))))
		}
	}
}
