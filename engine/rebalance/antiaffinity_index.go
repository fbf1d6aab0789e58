package rebalance

import (
	"slices"

	"github.com/berthproject/berth/engine/model"
)

// conflicts finds for each pod those that its anti-affinity keeps it apart from. Pods with a term in common (they
// share a specification) share what it matches; that is looked up by a label that the term demands, and kept by
// domain, so that the work grows with the pods that terms mean and not with all pods for each.
type conflicts struct {
	round *Round
	// labelled are the pods that the strategy sees, by namespace and label; all are those of a namespace.
	labelled map[pair][]*Pod
	all      map[string][]*Pod
	terms    map[termKey]*meant
}

// meant are the pods that a term of a carrier, one of those that share it, means, by domain.
type meant struct {
	carrier  *Pod
	byDomain map[string][]*Pod
}

type pair struct{ namespace, key, value string }

// termKey is a term of a specification, in a namespace.
type termKey struct {
	namespace string
	spec      *model.PodSpec
	term      int
}

func newConflicts(r *Round, s *RemovePodsViolatingInterPodAntiAffinity) *conflicts {
	c := &conflicts{round: r, labelled: map[pair][]*Pod{}, all: map[string][]*Pod{}, terms: map[termKey]*meant{}}
	for _, n := range r.nodes {
		for _, p := range r.PodsOn(n) {
			if !s.Scope.Has(p) {
				continue
			}
			c.all[p.Namespace] = append(c.all[p.Namespace], p)
		}
	}
	return c
}

// byLabel are the pods of a namespace with a label.
func (c *conflicts) byLabel(namespace, key, value string) []*Pod {
	done := pair{namespace: namespace, key: key}
	if _, filed := c.labelled[done]; !filed {
		c.labelled[done] = nil
		for _, p := range c.all[namespace] {
			if v, there := p.Labels.Get(key); there && v != "" {
				c.labelled[pair{namespace, key, v}] = append(c.labelled[pair{namespace, key, v}], p)
			}
		}
	}
	return c.labelled[pair{namespace, key, value}]
}

// domainOf is what two nodes must share to be one place to a term: the value of its key, or where a node has none, the node.
func domainOf(n *Node, key string) string {
	if v, there := n.Labels.Get(key); there {
		return "=" + v
	}
	return "." + n.Name
}

// matched are the pods that a term of a pod means, by domain.
func (c *conflicts) matched(p *Pod, term int) map[string][]*Pod {
	key := termKey{p.Namespace, p.Spec, term}
	if m, known := c.terms[key]; known {
		return m.byDomain
	}
	t := &p.Spec.AntiAffinity[term]
	m := map[string][]*Pod{}
	namespaces := t.Namespaces
	if len(namespaces) == 0 {
		namespaces = []string{p.Namespace}
	}
	for _, namespace := range namespaces {
		for _, q := range c.candidates(t, namespace) {
			if n := c.round.NodeOf(q); n != nil && Repels(p, t, q) {
				d := domainOf(n, t.TopologyKey)
				m[d] = append(m[d], q)
			}
		}
	}
	c.terms[key] = &meant{p, m}
	return m
}

// candidates are pods of a namespace among which those are that a term matches: the ones with a value that it demands.
func (c *conflicts) candidates(t *model.PodTerm, namespace string) []*Pod {
	if t.Selector == nil {
		return nil
	}
	for i := range t.Selector.Requirements {
		if q := &t.Selector.Requirements[i]; q.Op == model.In && len(q.Values) == 1 && q.Values[0] != "" {
			return c.byLabel(namespace, q.Key, q.Values[0])
		}
	}
	return c.all[namespace]
}

// each calls yield with every pod that a pod on a node is to be apart from, until it returns false. As the Kubernetes
// descheduler does, it takes pods of one name for one.
func (c *conflicts) each(p *Pod, n *Node, yield func(*Pod) bool) {
	for term := range p.Spec.AntiAffinity {
		key := p.Spec.AntiAffinity[term].TopologyKey
		here := domainOf(n, key)
		for _, q := range c.matched(p, term)[here] {
			at := c.round.NodeOf(q)
			if q.Name != p.Name && at != nil && domainOf(at, key) == here && !yield(q) {
				return
			}
		}
	}
}

// with is the first pod that a pod on a node is to be apart from; nil: none is.
func (c *conflicts) with(p *Pod, n *Node) (first *Pod) {
	c.each(p, n, func(q *Pod) bool { first = q; return false })
	return first
}

// count is how many pods there are on the node's side that a pod is to be apart from, each once for every term.
func (c *conflicts) count(p *Pod, n *Node) (sum int64) {
	c.each(p, n, func(*Pod) bool { sum++; return true })
	return sum
}

// move files a pod that went where it is now. Where it was, it is passed over.
func (c *conflicts) move(p *Pod) {
	to := c.round.NodeOf(p)
	if to == nil {
		return
	}
	for key, m := range c.terms {
		t := &key.spec.AntiAffinity[key.term]
		if d := domainOf(to, t.TopologyKey); Repels(m.carrier, t, p) && !slices.Contains(m.byDomain[d], p) {
			m.byDomain[d] = append(m.byDomain[d], p)
		}
	}
}
