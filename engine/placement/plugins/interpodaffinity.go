package plugins

import (
	"slices"

	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/placement/framework"
)

// topologyPair is a topology domain: a label of nodes.
type topologyPair struct{ key, value string }

// podTally is the number of counted pods in a domain, and the first of them.
type podTally struct {
	count    int
	firstPod string // namespace/name
}

// affinityCounts are the pod counts by domain for required terms.
type affinityCounts struct {
	existingAntiAffinity map[topologyPair]podTally // existing pods with anti-affinity to the pod
	affinity             map[topologyPair]podTally // pods that match all affinity terms of the pod
	antiAffinity         map[topologyPair]podTally // pods that match an anti-affinity term of the pod
	affinityTotal        int                       // sum of the counts in affinity
}

// interPodFilter filters by the required terms with the counts over all nodes.
type interPodFilter struct {
	*TermMatcher
	base affinityCounts
}

// TermMatcher matches affinity terms between the incoming pod and existing pods.
type TermMatcher struct {
	ev *framework.Evaluation
	// namespaceLabels are the labels of the pod's namespace; nil if the namespace is unknown.
	namespaceLabels model.Labels
}

// NewTermMatcher returns a TermMatcher whose incoming pod is the evaluated pod.
func NewTermMatcher(ev *framework.Evaluation) *TermMatcher {
	labels, _ := ev.State.NamespaceLabels(ev.Pod.Namespace)
	return &TermMatcher{ev: ev, namespaceLabels: labels}
}

// MatchesExisting reports whether a term of the incoming pod matches an existing pod. A namespace
// selector that matches empty labels selects all namespaces, known or not. kube-scheduler resolves
// the selector to names first and then also matches it against empty labels.
func (x *TermMatcher) MatchesExisting(t *model.PodAffinityTerm, existing *model.Pod) bool {
	if !slices.Contains(t.Namespaces, existing.Namespace) && !t.NamespaceSelector.Matches(nil) {
		labels, ok := x.ev.State.NamespaceLabels(existing.Namespace)
		if !ok || !t.NamespaceSelector.Matches(labels) {
			return false
		}
	}
	return t.Selector.Matches(existing.Labels)
}

// MatchesIncoming reports whether a term of an existing pod matches the incoming pod.
func (x *TermMatcher) MatchesIncoming(t *model.PodAffinityTerm) bool {
	if !slices.Contains(t.Namespaces, x.ev.Pod.Namespace) && !t.NamespaceSelector.Matches(x.namespaceLabels) {
		return false
	}
	return t.Selector.Matches(x.ev.Pod.Labels)
}

// MatchesAllAffinity reports whether a pod matches all required affinity terms of the
// incoming pod.
func (x *TermMatcher) MatchesAllAffinity(existing *model.Pod) bool {
	terms := x.ev.Pod.Spec.Affinity
	for i := range terms {
		if !x.MatchesExisting(&terms[i], existing) {
			return false
		}
	}
	return len(terms) > 0
}

// interPodAffinity rejects nodes outside of the domains that the pod's required affinity selects. It also rejects nodes
// in domains excluded by required anti-affinity of the pod or of existing pods.
func interPodAffinity(ev *framework.Evaluation) framework.PreFilterState {
	if err := ev.ParseErrors(model.ParseErrorPodAffinity); err != nil {
		v := framework.Reject(decision.UnschedulableAndUnresolvable, decision.Reason{Kind: decision.ReasonText, Subject: "parsing pod: " + err.Error()})
		return framework.PreFilterState{Verdict: &v}
	}
	x := &interPodFilter{TermMatcher: NewTermMatcher(ev)}
	for i := range ev.Nodes {
		for _, p := range ev.Nodes[i].Pods {
			x.count(&x.base, ev.Nodes[i].Node, p, 1)
		}
	}
	if len(x.base.existingAntiAffinity) == 0 && len(ev.Pod.Spec.Affinity) == 0 && len(ev.Pod.Spec.AntiAffinity) == 0 {
		return framework.PreFilterState{}
	}
	return framework.PreFilterState{Filter: x.filter}
}

// count adds a pod on a node to the counts of the required terms (sign 1) or subtracts it (sign -1).
func (x *interPodFilter) count(counts *affinityCounts, n *model.Node, p *model.Pod, sign int) {
	for i := range p.Spec.AntiAffinity {
		if t := &p.Spec.AntiAffinity[i]; x.MatchesIncoming(t) {
			counts.existingAntiAffinity = updateTally(counts.existingAntiAffinity, n, t.TopologyKey, p, sign)
		}
	}
	if x.MatchesAllAffinity(p) {
		for i := range x.ev.Pod.Spec.Affinity {
			key := x.ev.Pod.Spec.Affinity[i].TopologyKey
			if _, ok := n.Labels.Get(key); ok {
				counts.affinity = updateTally(counts.affinity, n, key, p, sign)
				counts.affinityTotal += sign
			}
		}
	}
	for i := range x.ev.Pod.Spec.AntiAffinity {
		if t := &x.ev.Pod.Spec.AntiAffinity[i]; x.MatchesExisting(t, p) {
			counts.antiAffinity = updateTally(counts.antiAffinity, n, t.TopologyKey, p, sign)
		}
	}
}

func updateTally(m map[topologyPair]podTally, n *model.Node, key string, p *model.Pod, sign int) map[topologyPair]podTally {
	value, ok := n.Labels.Get(key)
	if !ok {
		return m
	}
	if m == nil {
		m = map[topologyPair]podTally{}
	}
	t := m[topologyPair{key, value}]
	if t.firstPod == "" {
		t.firstPod = p.Key()
	}
	t.count += sign
	m[topologyPair{key, value}] = t
	return m
}

// filter checks affinity, anti-affinity and existing anti-affinity in kube-scheduler's
// order.
func (x *interPodFilter) filter(candidate *framework.CandidateNode) decision.Verdict {
	var extra affinityCounts
	for _, p := range candidate.Added {
		x.count(&extra, candidate.Node, p, 1)
	}
	for _, p := range candidate.Removed {
		x.count(&extra, candidate.Node, p, -1)
	}
	if key, ok := x.satisfiesAffinity(candidate.Node, &extra); !ok {
		return framework.Reject(decision.UnschedulableAndUnresolvable, decision.Reason{Kind: decision.ReasonPodAffinity, Subject: key})
	}
	for i := range x.ev.Pod.Spec.AntiAffinity {
		key := x.ev.Pod.Spec.AntiAffinity[i].TopologyKey
		if value, ok := candidate.Node.Labels.Get(key); ok {
			if t := sumTallies(x.base.antiAffinity, extra.antiAffinity, topologyPair{key, value}); t.count > 0 {
				return framework.Reject(decision.Unschedulable, decision.Reason{Kind: decision.ReasonPodAntiAffinity, Subject: key, Used: int64(t.count), Object: t.firstPod})
			}
		}
	}
	for _, l := range candidate.Node.Labels {
		if t := sumTallies(x.base.existingAntiAffinity, extra.existingAntiAffinity, topologyPair{l.Key, l.Value}); t.count > 0 {
			return framework.Reject(decision.Unschedulable, decision.Reason{Kind: decision.ReasonExistingAntiAffinity, Subject: l.Key, Used: int64(t.count), Object: t.firstPod})
		}
	}
	return decision.Verdict{}
}

// satisfiesAffinity reports whether every affinity term has matching pods in the node's domain. If not, key is the
// topology key of the first term without them. The first pod of a group with affinity to itself may use any node with
// all keys while no pod matches.
func (x *interPodFilter) satisfiesAffinity(n *model.Node, extra *affinityCounts) (key string, ok bool) {
	terms := x.ev.Pod.Spec.Affinity
	for i := range terms {
		value, found := n.Labels.Get(terms[i].TopologyKey)
		if !found {
			return terms[i].TopologyKey, false
		}
		if key == "" && sumTallies(x.base.affinity, extra.affinity, topologyPair{terms[i].TopologyKey, value}).count <= 0 {
			key = terms[i].TopologyKey
		}
	}
	if key == "" {
		return "", true
	}
	return key, x.base.affinityTotal+extra.affinityTotal == 0 && x.MatchesAllAffinity(x.ev.Pod)
}

func sumTallies(base, extra map[topologyPair]podTally, pair topologyPair) podTally {
	b, e := base[pair], extra[pair]
	b.count += e.count
	if b.firstPod == "" {
		b.firstPod = e.firstPod
	}
	return b
}
