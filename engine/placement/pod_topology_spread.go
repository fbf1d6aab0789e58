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

// spreadConstraints are the pod's hard or soft constraints, or the profile's default
// ones if the pod has none at all.
func spreadConstraints(ev *Evaluation, hard bool) []constraint {
	given, defaults := ev.Pod.Spec.Spread, len(ev.Pod.Spec.Spread) == 0
	var deduced *model.Selector
	if defaults {
		given = ev.Profile.DefaultConstraints()
		if deduced = ev.DefaultSelector(); deduced == nil {
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
			c.selector = withLabelKeys(c.SpreadConstraint, ev.Pod.Labels)
		}
		if c.selector.Matches(ev.Pod.Labels) {
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
func matchNodeInclusionPolicies(ev *Evaluation, c *constraint, n *model.Node) bool {
	if !c.IgnoreAffinity {
		if _, ok := matchesNodeSelector(&ev.Pod.Spec.NodeSelector, n); !ok {
			return false
		}
	}
	return !c.HonorTaints || untolerated(ev, n.Taints) == nil
}

// countPodsMatchSelector counts the pods of the pod's namespace that the selector matches and
// that are not on their way out. A selector that matches everything counts none, as upstream.
func countPodsMatchSelector(ev *Evaluation, c *constraint, pods []*model.Pod) int64 {
	if c.selector == nil || len(c.selector.Requirements) == 0 {
		return 0
	}
	var n int64
	for _, p := range pods {
		if !p.Deleting && p.Namespace == ev.Pod.Namespace && c.selector.Matches(p.Labels) {
			n++
		}
	}
	return n
}

// countSimulatedPods counts pods that come or go on trial. As upstream, and other than with
// matching, it does not matter then whether they are on their way out, and a selector
// that matches everything counts.
func countSimulatedPods(ev *Evaluation, c *constraint, pods []*model.Pod) int64 {
	var n int64
	for _, p := range pods {
		if p.Namespace == ev.Pod.Namespace && c.selector.Matches(p.Labels) {
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
func podTopologySpread(ev *Evaluation) PreFilterState {
	if err := ev.FirstParseError(model.ParseErrorHardSpread); err != nil {
		return PreFilterState{Err: fmt.Errorf("get constraints from pod: obtaining pod's hard topology spread constraints: %w", err)}
	}
	cs := spreadConstraints(ev, true)
	if len(cs) == 0 {
		return PreFilterState{}
	}
	all := make([]domainCounts, len(cs))
	for i := range ev.Nodes {
		st := &ev.Nodes[i]
		if !hasAllKeys(cs, st.Node) {
			continue
		}
		for k := range cs {
			if matchNodeInclusionPolicies(ev, &cs[k], st.Node) {
				value, _ := st.Node.Labels.Get(cs[k].TopologyKey)
				all[k].add(value, countPodsMatchSelector(ev, &cs[k], st.Pods))
			}
		}
	}
	return PreFilterState{Filter: func(st *CandidateNode) decision.Verdict { return filterPodTopologySpread(ev, cs, all, st) }}
}

func filterPodTopologySpread(ev *Evaluation, cs []constraint, all []domainCounts, st *CandidateNode) decision.Verdict {
	complete := hasAllKeys(cs, st.Node)
	for k := range cs {
		c, d := &cs[k], &all[k]
		value, ok := st.Node.Labels.Get(c.TopologyKey)
		if !ok {
			return Reject(decision.UnschedulableAndUnresolvable, decision.Reason{Kind: decision.ReasonTopologySpreadLabel, Subject: c.TopologyKey})
		}
		var delta int64
		if (len(st.Added) > 0 || len(st.Removed) > 0) && complete && matchNodeInclusionPolicies(ev, c, st.Node) {
			delta = countSimulatedPods(ev, c, st.Added) - countSimulatedPods(ev, c, st.Removed)
		}
		count := delta
		if i, ok := d.index[value]; ok {
			count += d.counts[i]
		}
		least := d.minCount(c.MinDomains, value, delta)
		if count+c.selfMatch-least > int64(c.MaxSkew) {
			return Reject(decision.Unschedulable, decision.Reason{Kind: decision.ReasonTopologySpread, Subject: c.TopologyKey,
				Want: int64(c.MaxSkew), Used: count, Have: least, Object: value})
		}
	}
	return decision.Verdict{}
}
