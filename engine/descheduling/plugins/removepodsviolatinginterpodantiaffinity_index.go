package plugins

import (
	"github.com/berthproject/berth/engine/descheduling"
	"slices"

	"github.com/berthproject/berth/engine/model"
)

// antiAffinityIndex finds for each pod those that its anti-affinity keeps it apart from. Pods with a term in common (they
// share a specification) share what it matches; that is looked up by a label that the term demands, and kept by
// domain, so that the work grows with the pods that terms mean and not with all pods for each.
type antiAffinityIndex struct {
	round *descheduling.Round
	// podsByLabel are the pods that the strategy sees, by namespace and label; all are those of a namespace.
	podsByLabel     map[labelKey][]*descheduling.Pod
	podsByNamespace map[string][]*descheduling.Pod
	terms           map[termKey]*termMatches
}

// termMatches are the pods that a term of a carrier, one of those that share it, means, by domain.
type termMatches struct {
	sample   *descheduling.Pod
	byDomain map[string][]*descheduling.Pod
}

type labelKey struct{ namespace, key, value string }

// termKey is a term of a specification, in a namespace.
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

// podsWithLabel are the pods of a namespace with a label.
func (c *antiAffinityIndex) podsWithLabel(namespace, key, value string) []*descheduling.Pod {
	done := labelKey{namespace: namespace, key: key}
	if _, filed := c.podsByLabel[done]; !filed {
		c.podsByLabel[done] = nil
		for _, p := range c.podsByNamespace[namespace] {
			if v, there := p.Labels.Get(key); there && v != "" {
				c.podsByLabel[labelKey{namespace, key, v}] = append(c.podsByLabel[labelKey{namespace, key, v}], p)
			}
		}
	}
	return c.podsByLabel[labelKey{namespace, key, value}]
}

// domainKey is what two nodes must share to be one place to a term: the value of its key, or where a node has none, the node.
func domainKey(n *descheduling.Node, key string) string {
	if v, there := n.Labels.Get(key); there {
		return "=" + v
	}
	return "." + n.Name
}

// matchedPods are the pods that a term of a pod means, by domain.
func (c *antiAffinityIndex) matchedPods(p *descheduling.Pod, term int) map[string][]*descheduling.Pod {
	key := termKey{p.Namespace, p.Spec, term}
	if m, known := c.terms[key]; known {
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

// candidatePods are pods of a namespace among which those are that a term matches: the ones with a value that it demands.
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

// forEachConflict calls yield with every pod that a pod on a node is to be apart from, until it returns false. As the Kubernetes
// descheduler does, it takes pods of one name for one.
func (c *antiAffinityIndex) forEachConflict(p *descheduling.Pod, n *descheduling.Node, yield func(*descheduling.Pod) bool) {
	for term := range p.Spec.AntiAffinity {
		key := p.Spec.AntiAffinity[term].TopologyKey
		here := domainKey(n, key)
		for _, q := range c.matchedPods(p, term)[here] {
			at := c.round.NodeOf(q)
			if q.Name != p.Name && at != nil && domainKey(at, key) == here && !yield(q) {
				return
			}
		}
	}
}

// firstConflict is the first pod that a pod on a node is to be apart from; nil: none is.
func (c *antiAffinityIndex) firstConflict(p *descheduling.Pod, n *descheduling.Node) (first *descheduling.Pod) {
	c.forEachConflict(p, n, func(q *descheduling.Pod) bool { first = q; return false })
	return first
}

// countConflicts is how many pods there are on the node's side that a pod is to be apart from, each once for every term.
func (c *antiAffinityIndex) countConflicts(p *descheduling.Pod, n *descheduling.Node) (sum int64) {
	c.forEachConflict(p, n, func(*descheduling.Pod) bool { sum++; return true })
	return sum
}

// podMoved files a pod that went where it is now. Where it was, it is passed over.
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
