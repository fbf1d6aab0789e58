package placement

import (
	"cmp"
	"slices"

	"github.com/berthproject/berth/engine/cluster"
	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/model"
)

// Hint says whether a change may have undone the rejection of the pod by the rules.
// It is asked after the state knows of the change.
func (w *QueueingHints) Hint(plugins decision.PluginSet, d *decision.Delta) (decision.QueueingHint, string, decision.PluginSet) {
	if plugins == 0 || plugins.Has(decision.NoPlugin) || d.Old == nil && d.New == nil {
		return decision.QueueForAnyNode, "", 0
	}
	plugins = w.withPreemption(plugins)
	switch deltaObject(d).(type) {
	case *model.Pod:
		return w.hintPod(plugins, d)
	case *model.Node:
		return w.hintNode(plugins, d)
	case *model.CSINode, *model.VolumeAttachment:
		return w.hintAttachment(plugins, d)
	}
	if w.hintOther(plugins, d) {
		return decision.QueueForAnyNode, "", 0
	}
	return decision.QueueSkip, "", 0
}

// deltaObject is what changed: as it is, or as it was if it is gone.
func deltaObject(d *decision.Delta) any {
	if d.New != nil {
		return d.New
	}
	return d.Old
}

// isNominatedTo says whether a change on a node can give the pod, which is nominated to it,
// its right to preempt back: it had to wait there for its victims to go.
func (w *QueueingHints) isNominatedTo(node string) bool {
	return node != "" && w.a.pod.NominatedNodeName == node
}

// hintPod is Helps for pods that take room or hold it as nominated.
func (w *QueueingHints) hintPod(plugins decision.PluginSet, d *decision.Delta) (decision.QueueingHint, string, decision.PluginSet) {
	old, _ := d.Old.(*model.Pod)
	now, _ := d.New.(*model.Pod)
	leaves := old != nil && d.Events&decision.PodRemoved != 0
	if leaves && old.NodeName == "" { // it held room as nominated
		if w.isNominatedTo(old.NominatedNodeName) || w.podMatters(plugins, d.Events&decision.PodAssigned, nil, now) {
			return decision.QueueForAnyNode, "", 0
		}
		return w.hintForNode(plugins, old.NominatedNodeName)
	}
	moved := leaves && now != nil && now.NodeName != old.NodeName && plugins.Has(decision.NodeVolumeLimits)
	if leaves && w.isNominatedTo(old.NodeName) || moved || w.podMatters(plugins, d.Events, old, now) {
		return decision.QueueForAnyNode, "", 0
	}
	const shared = 1<<decision.NodePorts | 1<<decision.NodeResourcesFit | 1<<decision.VolumeRestrictions | 1<<decision.NodeVolumeLimits
	switch {
	case leaves && plugins&shared != 0:
		return w.hintForNode(plugins, old.NodeName)
	case d.Events&decision.PodScaledDown != 0 && plugins.Has(decision.NodeResourcesFit):
		return w.hintForNode(plugins, now.NodeName)
	case d.Events&decision.PodAssigned != 0 && (plugins.Has(decision.NodeVolumeLimits) && hasVolumes(now.Spec) ||
		// When two pods have one port, either's leaving frees it, as upstream.
		plugins.Has(decision.NodePorts) && w.preempts && len(now.Spec.Ports) > 0):
		return w.hintForNode(plugins, now.NodeName)
	}
	return decision.QueueSkip, "", 0
}

// podMatters says whether a pod that came, went or changed may matter to the pod's
// rules that count pods over several nodes.
func (w *QueueingHints) podMatters(plugins decision.PluginSet, k decision.ClusterEvents, old, now *model.Pod) bool {
	if plugins.Has(decision.PodTopologySpread) && k&eventsToRegister[decision.PodTopologySpread] != 0 && w.matchesConstraint(old, now) {
		return true
	}
	if plugins.Has(decision.InterPodAffinity) {
		goes := k&(decision.PodRemoved|decision.PodLabelsChanged) != 0
		if goes && (w.hadAntiAffinity(old) || w.a.pod.NominatedNodeName != "" && w.matchesAffinity(old)) {
			return true
		}
		if k&(decision.PodAssigned|decision.PodLabelsChanged) != 0 && w.matchesAffinity(now) {
			return true
		}
	}
	return plugins.Has(decision.VolumeRestrictions) && k&decision.PodRemoved != 0 && w.sharesClaim(old)
}

// matchesConstraint says whether one of the pod's hard constraints counts a pod, as it was or is.
func (w *QueueingHints) matchesConstraint(old, now *model.Pod) bool {
	ns := w.a.pod.Namespace
	if (old == nil || old.Namespace != ns) && (now == nil || now.Namespace != ns) {
		return false
	}
	return slices.ContainsFunc(w.constraints(), func(c constraint) bool {
		return old != nil && c.selector.Matches(old.Labels) || now != nil && c.selector.Matches(now.Labels)
	})
}

// constraints are the pod's hard ones, as groups are now: a Waiter outlives their changes.
func (w *QueueingHints) constraints() []constraint {
	w.a.selectorKnown = false
	return w.a.constraints(true)
}

// hadAntiAffinity says whether p kept the pod away: one of them did not want the other, or p
// was what made the pod not the first of its group.
func (w *QueueingHints) hadAntiAffinity(p *model.Pod) bool {
	own := w.a.pod.Spec
	if p == nil || len(own.AntiAffinity)+len(own.Affinity)+len(p.Spec.AntiAffinity) == 0 {
		return false
	}
	x := w.a.termMatcher()
	for i := range own.AntiAffinity {
		if x.matchesExisting(&own.AntiAffinity[i], p) {
			return true
		}
	}
	for i := range p.Spec.AntiAffinity {
		if x.matchesIncoming(&p.Spec.AntiAffinity[i]) {
			return true
		}
	}
	return x.matchesAllAffinity(p) && x.matchesAllAffinity(w.a.pod)
}

// matchesAffinity says whether p is what the pod wants to be with.
func (w *QueueingHints) matchesAffinity(p *model.Pod) bool {
	return p != nil && len(w.a.pod.Spec.Affinity) > 0 && w.a.termMatcher().matchesAllAffinity(p)
}

// sharesClaim says whether p used a claim that the pod wants.
func (w *QueueingHints) sharesClaim(p *model.Pod) bool {
	if p == nil || p.Namespace != w.a.pod.Namespace {
		return false
	}
	return slices.ContainsFunc(w.a.pod.Spec.Claims, func(c model.PodClaim) bool { return usesClaim(p, c.Claim) })
}

// hintNode is Helps for nodes.
func (w *QueueingHints) hintNode(plugins decision.PluginSet, d *decision.Delta) (decision.QueueingHint, string, decision.PluginSet) {
	old, _ := d.Old.(*model.Node)
	now, _ := d.New.(*model.Node)
	if w.isNominatedTo(deltaObject(d).(*model.Node).Name) || w.nodeChangesDomains(plugins, old, now) {
		return decision.QueueForAnyNode, "", 0
	}
	if now == nil {
		return decision.QueueSkip, "", 0
	}
	var concerned decision.PluginSet
	for r := decision.NodeUnschedulable; r < decision.NumPlugins; r++ {
		if eventsToRegister[r]&d.Events != 0 {
			concerned = concerned.With(r)
		}
	}
	if d.Events&decision.NodeAdded != 0 || plugins&concerned&^(1<<decision.PodTopologySpread|1<<decision.InterPodAffinity) != 0 {
		return w.hintForNode(plugins, now.Name)
	}
	return decision.QueueSkip, "", 0
}

// nodeChangesDomains says whether a change of a node may matter to the pod elsewhere, by the
// domains that it makes, changes or takes away.
func (w *QueueingHints) nodeChangesDomains(plugins decision.PluginSet, old, now *model.Node) bool {
	if plugins.Has(decision.PodTopologySpread) {
		cs := w.constraints()
		for i := range cs {
			was, is := w.domain(cs, i, old), w.domain(cs, i, now)
			// A new domain is empty: all it can do is to make domains enough.
			if was != is && (old != nil || cs[i].MinDomains > 1) {
				return true
			}
		}
	}
	if !plugins.Has(decision.InterPodAffinity) || old == nil || now == nil || slices.Equal(old.Labels, now.Labels) {
		return false
	}
	differ := func(key string) bool {
		a, had := old.Labels.Get(key)
		b, has := now.Labels.Get(key)
		return a != b || had != has
	}
	for _, list := range [][]model.PodAffinityTerm{w.a.pod.Spec.Affinity, w.a.pod.Spec.AntiAffinity} {
		if slices.ContainsFunc(list, func(t model.PodAffinityTerm) bool { return differ(t.TopologyKey) }) {
			return true
		}
	}
	x := w.e.index
	return slices.ContainsFunc(x.TermsMatching(x.Class(w.a.pod.Namespace, w.a.pod.Labels)), func(t *cluster.Term) bool {
		return t.Kind == cluster.RequiredAntiAffinity && differ(cmp.Or(t.Topology.Key, HostnameKey))
	})
}

// nodeDomain is what a constraint reads of a node.
type nodeDomain struct {
	counts, has bool
	value       string
}

func (w *QueueingHints) domain(cs []constraint, i int, n *model.Node) (d nodeDomain) {
	if n != nil {
		d.value, d.has = n.Labels.Get(cs[i].TopologyKey)
		d.counts = hasAllKeys(cs, n) && w.a.matchNodeInclusionPolicies(&cs[i], n)
	}
	return d
}
