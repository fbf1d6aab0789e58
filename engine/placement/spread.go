package placement

import (
	"fmt"
	"math"

	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/model"
)

// constraint is a spread constraint compiled for a pod: with the selector that
// its matchLabelKeys complete.
type constraint struct {
	*model.SpreadConstraint
	selector *model.Selector
	self     int64 // 1 when the pod matches its own selector
}

// constraints are the pod's hard or soft constraints, or the profile's default
// ones if the pod has none at all.
func (a *attempt) constraints(hard bool) []constraint {
	given, defaults := a.pod.Spec.Spread, len(a.pod.Spec.Spread) == 0
	var deduced *model.Selector
	if defaults {
		given = a.profile.spread
		if deduced = a.deduce(); deduced == nil {
			return nil
		}
	}
	var out []constraint
	for i := range given {
		c := constraint{SpreadConstraint: &given[i], selector: deduced}
		if c.Hard != hard {
			continue
		}
		if !defaults {
			c.selector = withLabelKeys(c.SpreadConstraint, a.pod.Labels)
		}
		if c.selector.Matches(a.pod.Labels) {
			c.self = 1
		}
		out = append(out, c)
	}
	return out
}

// withLabelKeys is the constraint's selector and, for each of its
// matchLabelKeys that the pod has, the pod's own value. As upstream, a missing
// selector, which matches nothing, gives way to the keys.
func withLabelKeys(c *model.SpreadConstraint, pod model.Labels) *model.Selector {
	var own []model.Requirement
	for _, key := range c.MatchLabelKeys {
		if v, has := pod.Get(key); has {
			own = append(own, model.Requirement{Key: key, Op: model.In, Values: []string{v}})
		}
	}
	if len(own) == 0 {
		return c.Selector
	}
	if c.Selector != nil {
		own = append(own, c.Selector.Requirements...)
	}
	return &model.Selector{Requirements: own}
}

// counts says whether a node counts for the constraint, by its inclusion policies.
func (a *attempt) counts(c *constraint, n *model.Node) bool {
	if !c.IgnoreAffinity {
		if _, ok := selected(&a.pod.Spec.NodeSelector, n); !ok {
			return false
		}
	}
	return !c.HonorTaints || a.untolerated(n.Taints) == nil
}

// matching counts the pods of the pod's namespace that the selector matches and
// that are not on their way out. A selector that matches everything counts none, as upstream.
func (a *attempt) matching(c *constraint, pods []*model.Pod) int64 {
	if c.selector == nil || len(c.selector.Requirements) == 0 {
		return 0
	}
	var n int64
	for _, p := range pods {
		if !p.Deleting && p.Namespace == a.pod.Namespace && c.selector.Matches(p.Labels) {
			n++
		}
	}
	return n
}

// selecting counts pods that come or go on trial. As upstream, and other than with
// matching, it does not matter then whether they are on their way out, and a selector
// that matches everything counts.
func (a *attempt) selecting(c *constraint, pods []*model.Pod) int64 {
	var n int64
	for _, p := range pods {
		if p.Namespace == a.pod.Namespace && c.selector.Matches(p.Labels) {
			n++
		}
	}
	return n
}

func hasAllKeys(cs []constraint, n *model.Node) bool {
	for i := range cs {
		if _, ok := n.Labels.Get(cs[i].TopologyKey); !ok {
			return false
		}
	}
	return true
}

// domains are the counts of one constraint by topology value.
type domains struct {
	at     map[string]int // index of a value
	counts []int64
}

func (d *domains) add(value string, n int64) {
	i, ok := d.at[value]
	if !ok {
		if d.at == nil {
			d.at = map[string]int{}
		}
		i = len(d.counts)
		d.at[value] = i
		d.counts = append(d.counts, 0)
	}
	d.counts[i] += n
}

// least is the smallest count, that of one value corrected by delta; 0 when
// there are fewer domains than asked for.
func (d *domains) least(minDomains int32, value string, delta int64) int64 {
	if len(d.counts) < int(minDomains) || len(d.counts) == 0 {
		return 0
	}
	corrected, ok := d.at[value]
	least := int64(math.MaxInt64)
	for i, n := range d.counts {
		if ok && i == corrected {
			n += delta
		}
		least = min(least, n)
	}
	return least
}

// topologySpread rejects nodes on which the pod would take a domain further
// than maxSkew above the emptiest one.
func (a *attempt) topologySpread() compiled {
	if err := a.firstFault(model.FaultSpread); err != nil {
		return compiled{err: fmt.Errorf("get constraints from pod: obtaining pod's hard topology spread constraints: %w", err)}
	}
	cs := a.constraints(true)
	if len(cs) == 0 {
		return compiled{}
	}
	all := make([]domains, len(cs))
	for i := range a.sites {
		st := &a.sites[i]
		if !hasAllKeys(cs, st.node) {
			continue
		}
		for k := range cs {
			if a.counts(&cs[k], st.node) {
				value, _ := st.node.Labels.Get(cs[k].TopologyKey)
				all[k].add(value, a.matching(&cs[k], st.pods))
			}
		}
	}
	return compiled{judge: func(st *site) decision.Verdict { return a.judgeSpread(cs, all, st) }}
}

func (a *attempt) judgeSpread(cs []constraint, all []domains, st *site) decision.Verdict {
	complete := hasAllKeys(cs, st.node)
	for k := range cs {
		c, d := &cs[k], &all[k]
		value, ok := st.node.Labels.Get(c.TopologyKey)
		if !ok {
			return rejects(decision.Unresolvable, decision.Reason{Why: decision.WhySpreadLabel, Subject: c.TopologyKey})
		}
		var delta int64
		if (len(st.added) > 0 || len(st.removed) > 0) && complete && a.counts(c, st.node) {
			delta = a.selecting(c, st.added) - a.selecting(c, st.removed)
		}
		count := delta
		if i, ok := d.at[value]; ok {
			count += d.counts[i]
		}
		least := d.least(c.MinDomains, value, delta)
		if count+c.self-least > int64(c.MaxSkew) {
			return rejects(decision.Unschedulable, decision.Reason{Why: decision.WhySpread, Subject: c.TopologyKey,
				Want: int64(c.MaxSkew), Used: count, Have: least, Who: value})
		}
	}
	return decision.Verdict{}
}
