package rebalance

import "github.com/berthproject/berth/engine/model"

// RemovePodsViolatingTopologySpreadConstraint brings the domains of topology spread constraints within
// their maxSkew, with as few pods as that takes.
type RemovePodsViolatingTopologySpreadConstraint struct {
	Scope // of the pods that are looked at, and counted
	// Hard and Soft say which constraints count: DoNotSchedule (the default), ScheduleAnyway.
	Hard, Soft bool
	// BalanceNodeFit spares pods that fit on no node of a domain below the average
	// (topologyBalanceNodeFit, true by default).
	BalanceNodeFit bool
}

// Name is the plugin's in policies.
func (*RemovePodsViolatingTopologySpreadConstraint) Name() string {
	return "RemovePodsViolatingTopologySpreadConstraint"
}

// Run looks at the constraints of the pods of one namespace after another.
func (s *RemovePodsViolatingTopologySpreadConstraint) Run(r *Round) {
	chosen := &choice{round: r, has: map[*Pod]bool{}}
	for _, space := range s.spaces(r) {
		groups := s.groups(space)
		for _, g := range groups {
			g.count(r, space)
		}
		chosen.groups = indexGroups(groups)
		for _, g := range groups {
			switch {
			case g.balanced():
			case !r.Planned():
				s.balance(r, g, chosen)
			case !(&evening{round: r, of: g, groups: chosen.groups, scope: &s.Scope}).run():
				return
			}
		}
	}
	chosen.evict()
}

// space is a namespace with the pods in it that count.
type space struct {
	name    string
	sites   *sites
	pods    []sited
	byLabel map[model.Label][]int32 // indices of pods; made when first asked for
}

// sited is a pod with the index of its node.
type sited struct {
	pod  *Pod
	node int32
}

// spaces are the namespaces that have pods with constraints, in the order in which pods are found.
func (s *RemovePodsViolatingTopologySpreadConstraint) spaces(r *Round) []*space {
	all := map[string]*space{}
	var out []*space
	where := newSites(r.Nodes())
	for i, n := range r.Nodes() {
		for _, p := range r.PodsOn(n) {
			if !s.counts(r, p) {
				continue
			}
			one := all[p.Namespace]
			if one == nil {
				one = &space{name: p.Namespace, sites: where}
				all[p.Namespace] = one
				out = append(out, one)
			}
			one.pods = append(one.pods, sited{p, int32(i)})
		}
	}
	return out
}

// counts says whether a pod counts in its domain. The Kubernetes descheduler counts only those that it could evict and
// was asked to look at; a plan counts as the scheduler does.
func (s *RemovePodsViolatingTopologySpreadConstraint) counts(r *Round, p *Pod) bool {
	if p.Deleting {
		return false
	}
	return r.Planned() && s.Namespaces.Has(p.Namespace) || s.Has(p) && r.Evictable(p)
}

// matching are the pods that a selector matches, in order.
func (s *space) matching(sel *model.Selector) []sited {
	var out []sited
	label, one := exact(sel)
	if !one {
		for _, p := range s.pods {
			if sel.Matches(p.pod.Labels) {
				out = append(out, p)
			}
		}
		return out
	}
	if s.byLabel == nil {
		s.byLabel = map[model.Label][]int32{}
		for i, p := range s.pods {
			for _, l := range p.pod.Labels {
				s.byLabel[l] = append(s.byLabel[l], int32(i))
			}
		}
	}
	for _, i := range s.byLabel[label] {
		if p := s.pods[i]; len(sel.Requirements) == 1 || sel.Matches(p.pod.Labels) {
			out = append(out, p)
		}
	}
	return out
}

// exact finds a label that all pods have that a selector matches.
func exact(s *model.Selector) (model.Label, bool) {
	if s == nil {
		return model.Label{}, false
	}
	for i := range s.Requirements {
		if q := &s.Requirements[i]; q.Op == model.In && len(q.Values) == 1 {
			return model.Label{Key: q.Key, Value: q.Values[0]}, true
		}
	}
	return model.Label{}, false
}
