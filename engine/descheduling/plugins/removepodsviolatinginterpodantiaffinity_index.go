package plugins

import (
	"slices"

	"github.com/berthproject/berth/engine/descheduling"
	"github.com/berthproject/berth/engine/model"
)

// antiAffinityIndex finds the pods that violate a pod's anti-affinity. Pods that share a specification share the
// matches of its terms. Matches are found by a label that the term requires, and stored by topology domain. The work
// grows with the matching pods, not with all pairs.
type antiAffinityIndex struct {
	round *descheduling.Round
	// podsByLabel and podsByNamespace index the pods in scope.
	podsByLabel     map[labelKey][]*descheduling.Pod
	podsByNamespace map[string][]*descheduling.Pod
	terms           map[termKey]*termMatches
}

// termMatches are the pods that match a term, by topology domain; sample is a pod with the
// term.
type termMatches struct {
	sample   *descheduling.Pod
	byDomain map[string][]*descheduling.Pod
}

type labelKey struct{ namespace, key, value string }

// termKey identifies a term of a specification in a namespace.
type termKey struct {
	namespace string
	spec      *model.PodSpec
	term      int
}

func newAntiAffinityIndex(r *descheduling.Round, s *RemovePodsViolatingInterPodAntiAffinity) *antiAffinityIndex {
	c := &antiAffinityIndex{round: r, podsByLabel: map[labelKey][]*descheduling.Pod{}, podsByNamespace: map[string][]*descheduling.Pod{}, terms: map[termKey]*termMatches{}}
	for _, n := range r.Nodes() {
		for _, p := range r.PodsOn(n) {
			if !s.Scope.Has(p) {
				continue
			}
			c.podsByNamespace[p.Namespace] = append(c.podsByNamespace[p.Namespace], p)
		}
	}
	return c
}

// podsWithLabel returns the pods of a namespace with a label, whose value must not be empty.
func (c *antiAffinityIndex) podsWithLabel(namespace, key, value string) []*descheduling.Pod {
	allValues := labelKey{namespace: namespace, key: key}
	if _, indexed := c.podsByLabel[allValues]; !indexed {
		c.podsByLabel[allValues] = nil
		for _, p := range c.podsByNamespace[namespace] {
			if v, found := p.Labels.Get(key); found && v != "" {
				c.podsByLabel[labelKey{namespace, key, v}] = append(c.podsByLabel[labelKey{namespace, key, v}], p)
			}
		}
	}
	return c.podsByLabel[labelKey{namespace, key, value}]
}

// domainKey returns the topology domain of n for a label key: the label's value, or the node itself if it does not have
// the label.
func domainKey(n *descheduling.Node, key string) string {
	if v, found := n.Labels.Get(key); found {
		return "=" + v
	}
	return "." + n.Name
}

// matchedPods returns the pods that match a term of p, by topology domain.
func (c *antiAffinityIndex) matchedPods(p *descheduling.Pod, term int) map[string][]*descheduling.Pod {
	key := termKey{p.Namespace, p.Spec, term}
	if m, ok := c.terms[key]; ok {
		return m.byDomain
	}
	t := &p.Spec.AntiAffinity[term]
	m := map[string][]*descheduling.Pod{}
	namespaces := t.Namespaces
	if len(namespaces) == 0 {
		namespaces = []string{p.Namespace}
	}
	for _, namespace := range namespaces {
		for _, q := range c.candidatePods(t, namespace) {
			if n := c.round.NodeOf(q); n != nil && descheduling.MatchesAntiAffinityTerm(p, t, q) {
				d := domainKey(n, t.TopologyKey)
				m[d] = append(m[d], q)
			}
		}
	}
	c.terms[key] = &termMatches{p, m}
	return m
}

// candidatePods returns a superset of the pods of a namespace that match a term: those with a
// label that it requires, or all.
func (c *antiAffinityIndex) candidatePods(t *model.PodAffinityTerm, namespace string) []*descheduling.Pod {
	if t.Selector == nil {
		return nil
	}
	for i := range t.Selector.Requirements {
		if q := &t.Selector.Requirements[i]; q.Op == model.In && len(q.Values) == 1 && q.Values[0] != "" {
			return c.podsWithLabel(namespace, q.Key, q.Values[0])
		}
	}
	return c.podsByNamespace[namespace]
}

// forEachConflict calls yield with every pod that violates the anti-affinity of p on n, until
// it returns false. As in the Kubernetes descheduler, pods with equal names count as one.
func (c *antiAffinityIndex) forEachConflict(p *descheduling.Pod, n *descheduling.Node, yield func(*descheduling.Pod) bool) {
	for term := range p.Spec.AntiAffinity {
		key := p.Spec.AntiAffinity[term].TopologyKey
		domain := domainKey(n, key)
		for _, q := range c.matchedPods(p, term)[domain] {
			node := c.round.NodeOf(q)
			if q.Name != p.Name && node != nil && domainKey(node, key) == domain && !yield(q) {
				return
			}
		}
	}
}

// firstConflict returns the first pod that violates the anti-affinity of p on n, or nil.
func (c *antiAffinityIndex) firstConflict(p *descheduling.Pod, n *descheduling.Node) (first *descheduling.Pod) {
	c.forEachConflict(p, n, func(q *descheduling.Pod) bool { first = q; return false })
	return first
}

// countConflicts returns the number of pods that violate the anti-affinity of p on n, once per
// term.
func (c *antiAffinityIndex) countConflicts(p *descheduling.Pod, n *descheduling.Node) (sum int64) {
	c.forEachConflict(p, n, func(*descheduling.Pod) bool { sum++; return true })
	return sum
}

// podMoved adds a moved pod to its new domain. Entries of the old domain are skipped by
// forEachConflict.
func (c *antiAffinityIndex) podMoved(p *descheduling.Pod) {
	to := c.round.NodeOf(p)
	if to == nil {
		return
	}
	for key, m := range c.terms {
		t := &key.spec.AntiAffinity[key.term]
		if d := domainKey(to, t.TopologyKey); descheduling.MatchesAntiAffinityTerm(m.sample, t, p) && !slices.Contains(m.byDomain[d], p) {
			m.byDomain[d] = append(m.byDomain[d], p)
		}
	}
}
