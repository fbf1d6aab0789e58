package placement

import (
	"cmp"
	"slices"

	"github.com/berthproject/berth/engine/cluster"
	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/model"
)

// Helps says whether a change may have undone the rejection of the pod by the rules.
// It is asked after the state knows of the change.
func (w *Waiter) Helps(rules decision.RuleSet, d *decision.Delta) (decision.Help, string, decision.RuleSet) {
	if rules == 0 || rules.Has(decision.NoRule) || d.Old == nil && d.New == nil {
		return decision.HelpsAnywhere, "", 0
	}
	rules = w.all(rules)
	switch object(d).(type) {
	case *model.Pod:
		return w.helpsPod(rules, d)
	case *model.Node:
		return w.helpsNode(rules, d)
	case *model.CSINode, *model.VolumeAttachment:
		return w.helpsAttach(rules, d)
	}
	if w.helpsOther(rules, d) {
		return decision.HelpsAnywhere, "", 0
	}
	return decision.Helpless, "", 0
}

// object is what changed: as it is, or as it was if it is gone.
func object(d *decision.Delta) any {
	if d.New != nil {
		return d.New
	}
	return d.Old
}

// eligible says whether a change on a node can give the pod, which is nominated to it,
// its right to preempt back: it had to wait there for its victims to go.
func (w *Waiter) eligible(node string) bool { return node != "" && w.a.pod.Nominated == node }

// helpsPod is Helps for pods that take room or hold it as nominated.
func (w *Waiter) helpsPod(rules decision.RuleSet, d *decision.Delta) (decision.Help, string, decision.RuleSet) {
	old, _ := d.Old.(*model.Pod)
	now, _ := d.New.(*model.Pod)
	leaves := old != nil && d.Kinds&decision.PodRemoved != 0
	if leaves && old.NodeName == "" { // it held room as nominated
		if w.eligible(old.Nominated) || w.draws(rules, d.Kinds&decision.PodAssigned, nil, now) {
			return decision.HelpsAnywhere, "", 0
		}
		return w.at(rules, old.Nominated)
	}
	moved := leaves && now != nil && now.NodeName != old.NodeName && rules.Has(decision.NodeVolumeLimits)
	if leaves && w.eligible(old.NodeName) || moved || w.draws(rules, d.Kinds, old, now) {
		return decision.HelpsAnywhere, "", 0
	}
	const shared = 1<<decision.NodePorts | 1<<decision.NodeResourcesFit | 1<<decision.VolumeRestrictions | 1<<decision.NodeVolumeLimits
	switch {
	case leaves && rules&shared != 0:
		return w.at(rules, old.NodeName)
	case d.Kinds&decision.PodScaledDown != 0 && rules.Has(decision.NodeResourcesFit):
		return w.at(rules, now.NodeName)
	case d.Kinds&decision.PodAssigned != 0 && (rules.Has(decision.NodeVolumeLimits) && hasVolumes(now.Spec) ||
		// When two pods have one port, either's leaving frees it, as upstream.
		rules.Has(decision.NodePorts) && w.preempts && len(now.Spec.Ports) > 0):
		return w.at(rules, now.NodeName)
	}
	return decision.Helpless, "", 0
}

// draws says whether a pod that came, went or changed may matter to the pod's
// rules that count pods over several nodes.
func (w *Waiter) draws(rules decision.RuleSet, k decision.Change, old, now *model.Pod) bool {
	if rules.Has(decision.PodTopologySpread) && k&wakes[decision.PodTopologySpread] != 0 && w.spreads(old, now) {
		return true
	}
	if rules.Has(decision.InterPodAffinity) {
		goes := k&(decision.PodRemoved|decision.PodRelabelled) != 0
		if goes && (w.repels(old) || w.a.pod.Nominated != "" && w.attracts(old)) {
			return true
		}
		if k&(decision.PodAssigned|decision.PodRelabelled) != 0 && w.attracts(now) {
			return true
		}
	}
	return rules.Has(decision.VolumeRestrictions) && k&decision.PodRemoved != 0 && w.sharesClaim(old)
}

// spreads says whether one of the pod's hard constraints counts a pod, as it was or is.
func (w *Waiter) spreads(old, now *model.Pod) bool {
	ns := w.a.pod.Namespace
	if (old == nil || old.Namespace != ns) && (now == nil || now.Namespace != ns) {
		return false
	}
	return slices.ContainsFunc(w.constraints(), func(c constraint) bool {
		return old != nil && c.selector.Matches(old.Labels) || now != nil && c.selector.Matches(now.Labels)
	})
}

// constraints are the pod's hard ones, as groups are now: a Waiter outlives their changes.
func (w *Waiter) constraints() []constraint {
	w.a.deduced = false
	return w.a.constraints(true)
}

// repels says whether p kept the pod away: one of them did not want the other, or p
// was what made the pod not the first of its group.
func (w *Waiter) repels(p *model.Pod) bool {
	own := w.a.pod.Spec
	if p == nil || len(own.AntiAffinity)+len(own.Affinity)+len(p.Spec.AntiAffinity) == 0 {
		return false
	}
	x := w.a.affines()
	for i := range own.AntiAffinity {
		if x.meets(&own.AntiAffinity[i], p) {
			return true
		}
	}
	for i := range p.Spec.AntiAffinity {
		if x.met(&p.Spec.AntiAffinity[i]) {
			return true
		}
	}
	return x.meetsAll(p) && x.meetsAll(w.a.pod)
}

// attracts says whether p is what the pod wants to be with.
func (w *Waiter) attracts(p *model.Pod) bool {
	return p != nil && len(w.a.pod.Spec.Affinity) > 0 && w.a.affines().meetsAll(p)
}

// sharesClaim says whether p used a claim that the pod wants.
func (w *Waiter) sharesClaim(p *model.Pod) bool {
	if p == nil || p.Namespace != w.a.pod.Namespace {
		return false
	}
	return slices.ContainsFunc(w.a.pod.Spec.Claims, func(c model.PodClaim) bool { return usesClaim(p, c.Claim) })
}

// helpsNode is Helps for nodes.
func (w *Waiter) helpsNode(rules decision.RuleSet, d *decision.Delta) (decision.Help, string, decision.RuleSet) {
	old, _ := d.Old.(*model.Node)
	now, _ := d.New.(*model.Node)
	if w.eligible(object(d).(*model.Node).Name) || w.redraws(rules, old, now) {
		return decision.HelpsAnywhere, "", 0
	}
	if now == nil {
		return decision.Helpless, "", 0
	}
	var concerned decision.RuleSet
	for r := decision.NodeUnschedulable; r < decision.NumRules; r++ {
		if wakes[r]&d.Kinds != 0 {
			concerned = concerned.With(r)
		}
	}
	if d.Kinds&decision.NodeAdded != 0 || rules&concerned&^(1<<decision.PodTopologySpread|1<<decision.InterPodAffinity) != 0 {
		return w.at(rules, now.Name)
	}
	return decision.Helpless, "", 0
}

// redraws says whether a change of a node may matter to the pod elsewhere, by the
// domains that it makes, changes or takes away.
func (w *Waiter) redraws(rules decision.RuleSet, old, now *model.Node) bool {
	if rules.Has(decision.PodTopologySpread) {
		cs := w.constraints()
		for i := range cs {
			was, is := w.domain(cs, i, old), w.domain(cs, i, now)
			// A new domain is empty: all it can do is to make domains enough.
			if was != is && (old != nil || cs[i].MinDomains > 1) {
				return true
			}
		}
	}
	if !rules.Has(decision.InterPodAffinity) || old == nil || now == nil || slices.Equal(old.Labels, now.Labels) {
		return false
	}
	differ := func(key string) bool {
		a, had := old.Labels.Get(key)
		b, has := now.Labels.Get(key)
		return a != b || had != has
	}
	for _, list := range [][]model.PodTerm{w.a.pod.Spec.Affinity, w.a.pod.Spec.AntiAffinity} {
		if slices.ContainsFunc(list, func(t model.PodTerm) bool { return differ(t.TopologyKey) }) {
			return true
		}
	}
	x := w.e.index
	return slices.ContainsFunc(x.TermsOn(x.Class(w.a.pod.Namespace, w.a.pod.Labels)), func(t *cluster.Term) bool {
		return t.Kind == cluster.RequiredAntiAffinity && differ(cmp.Or(t.Column.Key, HostnameKey))
	})
}

// domain is what a constraint reads of a node.
type domain struct {
	counts, has bool
	value       string
}

func (w *Waiter) domain(cs []constraint, i int, n *model.Node) (d domain) {
	if n != nil {
		d.value, d.has = n.Labels.Get(cs[i].TopologyKey)
		d.counts = hasAllKeys(cs, n) && w.a.counts(&cs[i], n)
	}
	return d
}
