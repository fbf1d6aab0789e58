package plugins

import (
	"github.com/berthproject/berth/engine/descheduling"
	"github.com/berthproject/berth/engine/model"
)

// RemovePodsViolatingTopologySpreadConstraint brings topology spread constraints within their
// maxSkew with as few evictions as possible.
type RemovePodsViolatingTopologySpreadConstraint struct {
	descheduling.Scope // selects the pods that are evicted and counted
	// Hard and Soft select the constraints: DoNotSchedule (the default) and ScheduleAnyway.
	Hard, Soft bool
	// BalanceNodeFit skips pods that do not fit on any node of a domain below the average
	// (topologyBalanceNodeFit, true by default).
	BalanceNodeFit bool
}

// Name returns the plugin name used in policies.
func (*RemovePodsViolatingTopologySpreadConstraint) Name() string {
	return "RemovePodsViolatingTopologySpreadConstraint"
}

// Run evaluates the constraints of one namespace after another.
func (s *RemovePodsViolatingTopologySpreadConstraint) Run(r *descheduling.Round) {
	evictions := &evictionList{round: r, seen: map[*descheduling.Pod]bool{}}
	for _, ns := range s.namespaces(r) {
		constraints := s.constraints(ns)
		for _, c := range constraints {
			c.countPods(r, ns)
		}
		evictions.constraints = newConstraintIndex(constraints)
		for _, c := range constraints {
			switch {
			case c.isBalanced():
			case !r.Planned():
				s.balance(r, c, evictions)
			case !(&skewPlanner{round: r, constraint: c, all: evictions.constraints, scope: &s.Scope}).run():
				return
			}
		}
	}
	evictions.evict()
}

// namespacePods are the counted pods of a namespace.
type namespacePods struct {
	name    string
	nodes   *nodeDomains
	pods    []podAtIndex
	byLabel map[model.Label][]int32 // indexes of pods, computed on demand
}

// podAtIndex is a pod with the index of its node.
type podAtIndex struct {
	pod  *descheduling.Pod
	node int32
}

// namespaces returns the namespaces that have pods, in the order in which pods are found.
func (s *RemovePodsViolatingTopologySpreadConstraint) namespaces(r *descheduling.Round) []*namespacePods {
	all := map[string]*namespacePods{}
	var out []*namespacePods
	domains := newNodeDomains(r.Nodes())
	for i, n := range r.Nodes() {
		for _, p := range r.PodsOn(n) {
			if !s.isCounted(r, p) {
				continue
			}
			ns := all[p.Namespace]
			if ns == nil {
				ns = &namespacePods{name: p.Namespace, nodes: domains}
				all[p.Namespace] = ns
				out = append(out, ns)
			}
			ns.pods = append(ns.pods, podAtIndex{p, int32(i)})
		}
	}
	return out
}

// isCounted reports whether p counts in its domain. As in the Kubernetes descheduler, only
// evictable pods in scope count in compatible mode; a plan counts as the scheduler does.
func (s *RemovePodsViolatingTopologySpreadConstraint) isCounted(r *descheduling.Round, p *descheduling.Pod) bool {
	if p.Deleting {
		return false
	}
	return r.Planned() && s.Namespaces.Has(p.Namespace) || s.Has(p) && r.Evictable(p)
}

// matchingPods returns the pods that a selector matches, in order.
func (s *namespacePods) matchingPods(selector *model.Selector) []podAtIndex {
	var out []podAtIndex
	label, ok := requiredLabel(selector)
	if !ok {
		for _, p := range s.pods {
			if selector.Matches(p.pod.Labels) {
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
		if p := s.pods[i]; len(selector.Requirements) == 1 || selector.Matches(p.pod.Labels) {
			out = append(out, p)
		}
	}
	return out
}

// requiredLabel returns a label that all pods matched by s must have.
func requiredLabel(s *model.Selector) (model.Label, bool) {
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
