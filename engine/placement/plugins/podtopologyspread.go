package plugins

import (
	"fmt"
	"math"

	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/placement/framework"
)

// Constraint is a spread constraint for a pod, with the selector completed by
// matchLabelKeys.
type Constraint struct {
	*model.SpreadConstraint
	Selector  *model.Selector
	SelfMatch int64 // 1 if the pod matches its own selector
}

// SpreadConstraints returns the pod's hard or soft constraints, or the profile's default
// constraints if the pod has none.
func SpreadConstraints(ev *framework.Evaluation, hard bool) []Constraint {
	constraints, defaults := ev.Pod.Spec.Spread, len(ev.Pod.Spec.Spread) == 0
	var defaultSelector *model.Selector
	if defaults {
		constraints = ev.Profile.DefaultConstraints()
		if defaultSelector = ev.DefaultSelector(); defaultSelector == nil {
			return nil
		}
	}
	var out []Constraint
	for i := range constraints {
		c := Constraint{SpreadConstraint: &constraints[i], Selector: defaultSelector}
		if c.Hard != hard {
			continue
		}
		if !defaults {
			c.Selector = withLabelKeys(c.SpreadConstraint, ev.Pod.Labels)
		}
		if c.Selector.Matches(ev.Pod.Labels) {
			c.SelfMatch = 1
		}
		out = append(out, c)
	}
	return out
}

// withLabelKeys returns the selector of a constraint extended by the pod's values of its
// matchLabelKeys. As in kube-scheduler, a nil selector then matches by the keys alone.
func withLabelKeys(c *model.SpreadConstraint, pod model.Labels) *model.Selector {
	var requirements []model.Requirement
	for _, key := range c.MatchLabelKeys {
		if v, ok := pod.Get(key); ok {
			requirements = append(requirements, model.Requirement{Key: key, Op: model.In, Values: []string{v}})
		}
	}
	if len(requirements) == 0 {
		return c.Selector
	}
	if c.Selector != nil {
		requirements = append(requirements, c.Selector.Requirements...)
	}
	return &model.Selector{Requirements: requirements}
}

// MatchNodeInclusionPolicies reports whether a node counts for the constraint.
func MatchNodeInclusionPolicies(ev *framework.Evaluation, c *Constraint, n *model.Node) bool {
	if !c.IgnoreAffinity {
		if _, ok := MatchesNodeSelector(&ev.Pod.Spec.NodeSelector, n); !ok {
			return false
		}
	}
	return !c.HonorTaints || Untolerated(ev, n.Taints) == nil
}

// countPodsMatchSelector counts the matching pods in the pod's namespace that are not
// terminating. As in kube-scheduler, a selector that matches everything counts none.
func countPodsMatchSelector(ev *framework.Evaluation, c *Constraint, pods []*model.Pod) int64 {
	if c.Selector == nil || len(c.Selector.Requirements) == 0 {
		return 0
	}
	var n int64
	for _, p := range pods {
		if !p.Deleting && p.Namespace == ev.Pod.Namespace && c.Selector.Matches(p.Labels) {
			n++
		}
	}
	return n
}

// countSimulatedPods counts matching pods that a CandidateNode adds or removes. As in
// kube-scheduler, unlike countPodsMatchSelector, it includes terminating pods and
// selectors that match everything.
func countSimulatedPods(ev *framework.Evaluation, c *Constraint, pods []*model.Pod) int64 {
	var n int64
	for _, p := range pods {
		if p.Namespace == ev.Pod.Namespace && c.Selector.Matches(p.Labels) {
			n++
		}
	}
	return n
}

// HasAllKeys reports whether a node has labels for the topology keys of all constraints.
func HasAllKeys(cs []Constraint, n *model.Node) bool {
	for i := range cs {
		if _, ok := n.Labels.Get(cs[i].TopologyKey); !ok {
			return false
		}
	}
	return true
}

// domainCounts are the pod counts of one constraint by topology value.
type domainCounts struct {
	index  map[string]int // index in counts, by topology value
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

// minCount returns the smallest count after adding delta to the count of value. It returns 0 if
// there are fewer than minDomains domains.
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

// podTopologySpread rejects nodes on which the pod would raise the count of a domain more
// than maxSkew above the minimum.
func podTopologySpread(ev *framework.Evaluation) framework.PreFilterState {
	if err := ev.FirstParseError(model.ParseErrorHardSpread); err != nil {
		return framework.PreFilterState{Err: fmt.Errorf("get constraints from pod: obtaining pod's hard topology spread constraints: %w", err)}
	}
	cs := SpreadConstraints(ev, true)
	if len(cs) == 0 {
		return framework.PreFilterState{}
	}
	counts := make([]domainCounts, len(cs))
	for i := range ev.Nodes {
		candidate := &ev.Nodes[i]
		if !HasAllKeys(cs, candidate.Node) {
			continue
		}
		for k := range cs {
			if MatchNodeInclusionPolicies(ev, &cs[k], candidate.Node) {
				value, _ := candidate.Node.Labels.Get(cs[k].TopologyKey)
				counts[k].add(value, countPodsMatchSelector(ev, &cs[k], candidate.Pods))
			}
		}
	}
	return framework.PreFilterState{Filter: func(candidate *framework.CandidateNode) decision.Verdict {
		return filterPodTopologySpread(ev, cs, counts, candidate)
	}}
}

func filterPodTopologySpread(ev *framework.Evaluation, cs []Constraint, counts []domainCounts, candidate *framework.CandidateNode) decision.Verdict {
	complete := HasAllKeys(cs, candidate.Node)
	for k := range cs {
		c, d := &cs[k], &counts[k]
		value, ok := candidate.Node.Labels.Get(c.TopologyKey)
		if !ok {
			return framework.Reject(decision.UnschedulableAndUnresolvable, decision.Reason{Kind: decision.ReasonTopologySpreadLabel, Subject: c.TopologyKey})
		}
		var delta int64
		if (len(candidate.Added) > 0 || len(candidate.Removed) > 0) && complete && MatchNodeInclusionPolicies(ev, c, candidate.Node) {
			delta = countSimulatedPods(ev, c, candidate.Added) - countSimulatedPods(ev, c, candidate.Removed)
		}
		count := delta
		if i, ok := d.index[value]; ok {
			count += d.counts[i]
		}
		least := d.minCount(c.MinDomains, value, delta)
		if count+c.SelfMatch-least > int64(c.MaxSkew) {
			return framework.Reject(decision.Unschedulable, decision.Reason{Kind: decision.ReasonTopologySpread, Subject: c.TopologyKey,
				Want: int64(c.MaxSkew), Used: count, Have: least, Object: value})
		}
	}
	return decision.Verdict{}
}
