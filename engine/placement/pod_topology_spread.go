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
	selector  *model.Selector
	selfMatch int64 // 1 when the pod matches its own selector
}

// constraints are the pod's hard or soft constraints, or the profile's default
// ones if the pod has none at all.
func (a *attempt) constraints(hard bool) []constraint {
	given, defaults := a.pod.Spec.Spread, len(a.pod.Spec.Spread) == 0
	var deduced *model.Selector
	if defaults {
		given = a.profile.spread
		if deduced = a.defaultSelector(); deduced == nil {
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
			c.selfMatch = 1
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

// matchNodeInclusionPolicies says whether a node counts for the constraint, by its inclusion policies.
func (a *attempt) matchNodeInclusionPolicies(c *constraint, n *model.Node) bool {
	if !c.IgnoreAffinity {
		if _, ok := matchesNodeSelector(&a.pod.Spec.NodeSelector, n); !ok {
			return false
		}
	}
	return !c.HonorTaints || a.untolerated(n.Taints) == nil
}

// countPodsMatchSelector counts the pods of the pod's namespace that the selector matches and
// that are not on their way out. A selector that matches everything counts none, as upstream.
func (a *attempt) countPodsMatchSelector(c *constraint, pods []*model.Pod) int64 {
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

// countSimulatedPods counts pods that come or go on trial. As upstream, and other than with
// matching, it does not matter then whether they are on their way out, and a selector
// that matches everything counts.
func (a *attempt) countSimulatedPods(c *constraint, pods []*model.Pod) int64 {
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

// domainCounts are the counts of one constraint by topology value.
type domainCounts struct {
	index  map[string]int // index of a value
	counts []int64
}

func (d *domainCounts) add(value string, n int64) {
	i, ok := d.index[value]
	if !ok {
		if d.index == nil {
			d.index = map[string]int{}
		}
		i = len(d.counts)
		d.index[value] = i
		d.counts = append(d.counts, 0)
	}
	d.counts[i] += n
}

// minCount is the smallest count, that of one value corrected by delta; 0 when
// there are fewer domains than asked for.
func (d *domainCounts) minCount(minDomains int32, value string, delta int64) int64 {
	if len(d.counts) < int(minDomains) || len(d.counts) == 0 {
		return 0
	}
	corrected, ok := d.index[value]
	least := int64(math.MaxInt64)
	for i, n := range d.counts {
		if ok && i == corrected {
			n += delta
		}
		least = min(least, n)
	}
	return least
}

// podTopologySpread rejects nodes on which the pod would take a domain further
// than maxSkew above the emptiest one.
func (a *attempt) podTopologySpread() preFilterState {
	if err := a.firstParseError(model.ParseErrorHardSpread); err != nil {
		return preFilterState{err: fmt.Errorf("get constraints from pod: obtaining pod's hard topology spread constraints: %w", err)}
	}
	cs := a.constraints(true)
	if len(cs) == 0 {
		return preFilterState{}
	}
	all := make([]domainCounts, len(cs))
	for i := range a.nodes {
		st := &a.nodes[i]
		if !hasAllKeys(cs, st.node) {
			continue
		}
		for k := range cs {
			if a.matchNodeInclusionPolicies(&cs[k], st.node) {
				value, _ := st.node.Labels.Get(cs[k].TopologyKey)
				all[k].add(value, a.countPodsMatchSelector(&cs[k], st.pods))
			}
		}
	}
	return preFilterState{filter: func(st *candidateNode) decision.Verdict { return a.filterPodTopologySpread(cs, all, st) }}
}

func (a *attempt) filterPodTopologySpread(cs []constraint, all []domainCounts, st *candidateNode) decision.Verdict {
	complete := hasAllKeys(cs, st.node)
	for k := range cs {
		c, d := &cs[k], &all[k]
		value, ok := st.node.Labels.Get(c.TopologyKey)
		if !ok {
			return rejection(decision.UnschedulableAndUnresolvable, decision.Reason{Kind: decision.ReasonTopologySpreadLabel, Subject: c.TopologyKey})
		}
		var delta int64
		if (len(st.added) > 0 || len(st.removed) > 0) && complete && a.matchNodeInclusionPolicies(c, st.node) {
			delta = a.countSimulatedPods(c, st.added) - a.countSimulatedPods(c, st.removed)
		}
		count := delta
		if i, ok := d.index[value]; ok {
			count += d.counts[i]
		}
		least := d.minCount(c.MinDomains, value, delta)
		if count+c.selfMatch-least > int64(c.MaxSkew) {
			return rejection(decision.Unschedulable, decision.Reason{Kind: decision.ReasonTopologySpread, Subject: c.TopologyKey,
				Want: int64(c.MaxSkew), Used: count, Have: least, Object: value})
		}
	}
	return decision.Verdict{}
}
