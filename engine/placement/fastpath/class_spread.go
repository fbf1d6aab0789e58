package fastpath

import (
	"slices"

	"github.com/berthproject/berth/engine/cluster"
	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/placement/framework"
	"github.com/berthproject/berth/engine/placement/plugins"
)

// compileSpread compiles the spread constraints, soft ones first, because their domains
// need slots even for fine-grained topologies.
func (c *classBuilder) compileSpread() {
	if c.engine.plugins.weights[decision.PodTopologySpread] > 0 {
		cs := c.constraints(false)
		c.strict = len(c.spec.Spread) > 0 || !c.engine.profile.Config().Spread.SystemDefaulting
		for i := range cs {
			c.softConstraint(cs, &cs[i])
		}
	}
	if c.engine.plugins.filters.Has(decision.PodTopologySpread) {
		cs := c.constraints(true)
		for i := range cs {
			k := &cs[i]
			h := hardConstraint{counter: c.spreadCounter(k, cs), slot: c.useTopology(k.TopologyKey),
				maxSkew: int64(k.MaxSkew), minDomains: int(k.MinDomains), selfMatch: k.SelfMatch}
			if h.slot == 0 {
				h.fineGrained, h.slot = true, c.nextSlot()
			}
			c.hard = append(c.hard, h)
		}
	}
}

// constraints returns the hard or the soft spread constraints. It does not compute the default selector
// if there are none.
func (c *classBuilder) constraints(hard bool) []plugins.Constraint {
	constraints := c.spec.Spread
	if len(constraints) == 0 {
		constraints = c.engine.profile.DefaultConstraints()
	}
	if !slices.ContainsFunc(constraints, func(k model.SpreadConstraint) bool { return k.Hard == hard }) {
		return nil
	}
	return plugins.SpreadConstraints(c.ev, hard)
}

func (c *classBuilder) softConstraint(all []plugins.Constraint, k *plugins.Constraint) {
	t := softConstraint{skew: float64(k.MaxSkew - 1), host: k.TopologyKey == framework.HostnameKey, topology: c.engine.index.Topology(k.TopologyKey)}
	if t.host {
		m := spreadMatcher(k, c.ev.Pod.Namespace)
		t.counter = c.engine.index.Counter(cluster.CounterKey("", "", &m), "", nil, m, false)
		t.slot = c.nextSlot()
		c.hostnames = t.topology
	} else {
		required := all
		if !c.strict {
			required = nil
		}
		t.counter = c.spreadCounter(k, required)
		t.slot = c.domainSlot(k.TopologyKey)
	}
	c.soft = append(c.soft, t)
}

// spreadMatcher returns a matcher for the pods that a constraint counts. A selector
// without requirements counts none.
func spreadMatcher(k *plugins.Constraint, namespace string) cluster.Matcher {
	t := cluster.MatchTerm{Namespaces: []string{namespace}, Selector: k.Selector}
	if k.Selector != nil && len(k.Selector.Requirements) == 0 {
		t.Selector = nil
	}
	return cluster.Matcher{Terms: []cluster.MatchTerm{t}, SkipDeleting: true}
}

// spreadCounter returns the counter of a constraint on nodes that have the topology keys of
// the required constraints and match the inclusion policies.
func (c *classBuilder) spreadCounter(k *plugins.Constraint, required []plugins.Constraint) *cluster.DomainCounter {
	b := make([]byte, 0, 64)
	var keys []string
	for i := range required {
		keys = append(keys, required[i].TopologyKey)
	}
	slices.Sort(keys)
	keys = slices.Compact(keys)
	for _, key := range keys {
		b = cluster.AppendText(b, key)
	}
	b = append(b, '|')
	constraint := *k
	if !constraint.IgnoreAffinity {
		b = appendSelected(b, &c.spec.NodeSelector)
	}
	if constraint.HonorTaints {
		b = appendTolerations(append(b, '!'), c.spec.Tolerations, c.engine.profile.Config().NumericTolerations)
	}
	ev := c.ev
	eligible := c.engine.index.NodeValues("eligible "+string(b), func(n *cluster.NodeInfo) int32 {
		for _, key := range keys {
			if _, ok := n.Model.Labels.Get(key); !ok {
				return 0
			}
		}
		if !plugins.MatchNodeInclusionPolicies(ev, &constraint, n.Model) {
			return 0
		}
		return 1
	})
	m := spreadMatcher(k, c.ev.Pod.Namespace)
	return c.engine.index.Counter(cluster.CounterKey(k.TopologyKey, string(b), &m), k.TopologyKey, eligible, m, k.Hard)
}
