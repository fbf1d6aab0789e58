package queueinghints

import (
	"cmp"
	"slices"

	"github.com/berthproject/berth/engine/cluster"
	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/placement/framework"
	"github.com/berthproject/berth/engine/placement/plugins"
)

// Hint implements queue.QueueingHints. Call it after the state was updated.
func (h *Hints) Hint(rejectedBy decision.PluginSet, d *decision.Delta) (hint decision.QueueingHint, node string, added decision.PluginSet) {
	if rejectedBy == 0 || rejectedBy.Has(decision.NoPlugin) || d.Old == nil && d.New == nil {
		return decision.QueueForAnyNode, "", 0
	}
	rejectedBy = h.withPreemption(rejectedBy)
	switch deltaObject(d).(type) {
	case *model.Pod:
		return h.hintPod(rejectedBy, d)
	case *model.Node:
		return h.hintNode(rejectedBy, d)
	case *model.CSINode, *model.VolumeAttachment:
		return h.hintAttachment(rejectedBy, d)
	}
	if h.hintOther(rejectedBy, d) {
		return decision.QueueForAnyNode, "", 0
	}
	return decision.QueueSkip, "", 0
}

// deltaObject returns the changed object: the new version, or the old one if it was
// deleted.
func deltaObject(d *decision.Delta) any {
	if d.New != nil {
		return d.New
	}
	return d.Old
}

// isNominatedTo reports whether the pod is nominated to a node. While its victims terminate,
// the pod is not eligible for preemption; an event of that node may change this.
func (h *Hints) isNominatedTo(node string) bool {
	return node != "" && h.ev.Pod.NominatedNodeName == node
}

// hintPod returns the hint for an event of an assigned or nominated pod.
func (h *Hints) hintPod(rejectedBy decision.PluginSet, d *decision.Delta) (decision.QueueingHint, string, decision.PluginSet) {
	old, _ := d.Old.(*model.Pod)
	current, _ := d.New.(*model.Pod)
	removed := old != nil && d.Events&decision.PodRemoved != 0
	if removed && old.NodeName == "" { // the pod was only nominated
		if h.isNominatedTo(old.NominatedNodeName) || h.affectsCounts(rejectedBy, d.Events&decision.PodAssigned, nil, current) {
			return decision.QueueForAnyNode, "", 0
		}
		return h.hintForNode(old.NominatedNodeName)
	}
	moved := removed && current != nil && current.NodeName != old.NodeName && rejectedBy.Has(decision.NodeVolumeLimits)
	if removed && h.isNominatedTo(old.NodeName) || moved || h.affectsCounts(rejectedBy, d.Events, old, current) {
		return decision.QueueForAnyNode, "", 0
	}
	const helpedByRemoval = 1<<decision.NodePorts | 1<<decision.NodeResourcesFit | 1<<decision.VolumeRestrictions | 1<<decision.NodeVolumeLimits
	switch {
	case removed && rejectedBy&helpedByRemoval != 0:
		return h.hintForNode(old.NodeName)
	case d.Events&decision.PodScaledDown != 0 && rejectedBy.Has(decision.NodeResourcesFit):
		return h.hintForNode(current.NodeName)
	case d.Events&decision.PodAssigned != 0 && (rejectedBy.Has(decision.NodeVolumeLimits) && framework.HasVolumes(current.Spec) ||
		// If two pods use one port, deleting either frees it, as in kube-scheduler.
		rejectedBy.Has(decision.NodePorts) && h.preempts && len(current.Spec.Ports) > 0):
		return h.hintForNode(current.NodeName)
	}
	return decision.QueueSkip, "", 0
}

// affectsCounts reports whether an event of a pod affects plugins that count pods over
// several nodes.
func (h *Hints) affectsCounts(rejectedBy decision.PluginSet, events decision.ClusterEvents, old, current *model.Pod) bool {
	if rejectedBy.Has(decision.PodTopologySpread) && events&plugins.Events(decision.PodTopologySpread) != 0 && h.matchesConstraint(old, current) {
		return true
	}
	if rejectedBy.Has(decision.InterPodAffinity) {
		removed := events&(decision.PodRemoved|decision.PodLabelsChanged) != 0
		if removed && (h.hadAntiAffinity(old) || h.ev.Pod.NominatedNodeName != "" && h.matchesAffinity(old)) {
			return true
		}
		if events&(decision.PodAssigned|decision.PodLabelsChanged) != 0 && h.matchesAffinity(current) {
			return true
		}
	}
	return rejectedBy.Has(decision.VolumeRestrictions) && events&decision.PodRemoved != 0 && h.sharesClaim(old)
}

// matchesConstraint reports whether a hard spread constraint of the pod counts another
// pod, before or after the event.
func (h *Hints) matchesConstraint(old, current *model.Pod) bool {
	ns := h.ev.Pod.Namespace
	if (old == nil || old.Namespace != ns) && (current == nil || current.Namespace != ns) {
		return false
	}
	return slices.ContainsFunc(h.constraints(), func(c plugins.Constraint) bool {
		return old != nil && c.Selector.Matches(old.Labels) || current != nil && c.Selector.Matches(current.Labels)
	})
}

// constraints returns the hard spread constraints of the pod. Spread groups may have
// changed since the last call.
func (h *Hints) constraints() []plugins.Constraint {
	h.ev.ResetDefaultSelector()
	return plugins.SpreadConstraints(h.ev, true)
}

// hadAntiAffinity reports whether p may have excluded a domain for the pod: by anti-affinity
// of either, or because both p and the pod match the pod's affinity. In the latter case p
// prevented the exception for the first pod with affinity to itself.
func (h *Hints) hadAntiAffinity(p *model.Pod) bool {
	spec := h.ev.Pod.Spec
	if p == nil || len(spec.AntiAffinity)+len(spec.Affinity)+len(p.Spec.AntiAffinity) == 0 {
		return false
	}
	x := plugins.NewTermMatcher(h.ev)
	for i := range spec.AntiAffinity {
		if x.MatchesExisting(&spec.AntiAffinity[i], p) {
			return true
		}
	}
	for i := range p.Spec.AntiAffinity {
		if x.MatchesIncoming(&p.Spec.AntiAffinity[i]) {
			return true
		}
	}
	return x.MatchesAllAffinity(p) && x.MatchesAllAffinity(h.ev.Pod)
}

// matchesAffinity reports whether p matches the required affinity of the pod.
func (h *Hints) matchesAffinity(p *model.Pod) bool {
	return p != nil && len(h.ev.Pod.Spec.Affinity) > 0 && plugins.NewTermMatcher(h.ev).MatchesAllAffinity(p)
}

// sharesClaim reports whether p uses a claim of the pod.
func (h *Hints) sharesClaim(p *model.Pod) bool {
	if p == nil || p.Namespace != h.ev.Pod.Namespace {
		return false
	}
	return slices.ContainsFunc(h.ev.Pod.Spec.Claims, func(c model.PodClaim) bool { return plugins.UsesClaim(p, c.Claim) })
}

// hintNode returns the hint for an event of a node.
func (h *Hints) hintNode(rejectedBy decision.PluginSet, d *decision.Delta) (decision.QueueingHint, string, decision.PluginSet) {
	old, _ := d.Old.(*model.Node)
	current, _ := d.New.(*model.Node)
	if h.isNominatedTo(deltaObject(d).(*model.Node).Name) || h.nodeChangesDomains(rejectedBy, old, current) {
		return decision.QueueForAnyNode, "", 0
	}
	if current == nil {
		return decision.QueueSkip, "", 0
	}
	var registered decision.PluginSet
	for p := decision.NodeUnschedulable; p < decision.NumPlugins; p++ {
		if plugins.Events(p)&d.Events != 0 {
			registered = registered.With(p)
		}
	}
	if d.Events&decision.NodeAdded != 0 || rejectedBy&registered&^(1<<decision.PodTopologySpread|1<<decision.InterPodAffinity) != 0 {
		return h.hintForNode(current.Name)
	}
	return decision.QueueSkip, "", 0
}

// nodeChangesDomains reports whether a change of a node may make other nodes fit, because
// it adds, changes or removes topology domains.
func (h *Hints) nodeChangesDomains(rejectedBy decision.PluginSet, old, current *model.Node) bool {
	if rejectedBy.Has(decision.PodTopologySpread) {
		cs := h.constraints()
		for i := range cs {
			before, after := h.domain(cs, i, old), h.domain(cs, i, current)
			// A new domain has no pods. It matters only if minDomains was not reached.
			if before != after && (old != nil || cs[i].MinDomains > 1) {
				return true
			}
		}
	}
	if !rejectedBy.Has(decision.InterPodAffinity) || old == nil || current == nil || slices.Equal(old.Labels, current.Labels) {
		return false
	}
	changed := func(key string) bool {
		a, okOld := old.Labels.Get(key)
		b, okCurrent := current.Labels.Get(key)
		return a != b || okOld != okCurrent
	}
	for _, list := range [][]model.PodAffinityTerm{h.ev.Pod.Spec.Affinity, h.ev.Pod.Spec.AntiAffinity} {
		if slices.ContainsFunc(list, func(t model.PodAffinityTerm) bool { return changed(t.TopologyKey) }) {
			return true
		}
	}
	x := h.provider.index
	return slices.ContainsFunc(x.TermsMatching(x.Class(h.ev.Pod.Namespace, h.ev.Pod.Labels)), func(t *cluster.Term) bool {
		return t.Kind == cluster.RequiredAntiAffinity && changed(cmp.Or(t.Topology.Key, framework.HostnameKey))
	})
}

// nodeDomain is what a spread constraint reads of a node.
type nodeDomain struct {
	eligible bool // the node counts for the constraint
	hasKey   bool
	value    string
}

// domain returns what constraint i reads of a node; zero if n is nil.
func (h *Hints) domain(cs []plugins.Constraint, i int, n *model.Node) (d nodeDomain) {
	if n != nil {
		d.value, d.hasKey = n.Labels.Get(cs[i].TopologyKey)
		d.eligible = plugins.HasAllKeys(cs, n) && plugins.MatchNodeInclusionPolicies(h.ev, &cs[i], n)
	}
	return d
}
