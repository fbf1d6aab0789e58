package queueinghints

import (
	"github.com/berthproject/berth/engine/cluster"
	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/placement/framework"
	"github.com/berthproject/berth/engine/placement/plugins"
)

// QueueingHints says what can help the waiting pods of one kind. A waiting pod is known
// to be rejected on each node by one of a set of rules, or everywhere by one of
// them. A change that none of these rules cares for leaves that as it is; of any other a
// Waiter says that it may help, or it names the rule that rejects the pod now where the
// change took place, which then joins the set. So nothing is missed, though what
// helps by the Waiter's word may turn out not to.
//
// A pod that may preempt is helped by what lets it fit once all pods of lower
// priority have left a node, too.
type Hints struct {
	provider *Provider
	ev       *framework.Evaluation // without nodes
	preempts bool
	// byHold says that Holds tell the pods of this owner from others. Where not, an Avoid is nothing to
	// go by: it may be that of another owner, whose pod the Waiter was made of.
	byHold bool
	// preemptionPlugins are rules that can stand in the way of preemption on a node without being
	// the first to reject it.
	preemptionPlugins decision.PluginSet
	scalars           []model.Scalar
}

// hintKey is what makes waiting pods equal.
type hintKey struct {
	spec      *model.PodSpec
	class     *cluster.PodClass
	version   uint64 // of what tells classes apart
	owner     model.Owner
	holdOwner string // uid of the owner, where Holds tell its pods from others
	uid       string
}

// preemptible are the rules whose verdict can be undone by removing pods.
const preemptible = decision.PluginSet(1<<decision.NodePorts | 1<<decision.NodeResourcesFit | 1<<decision.VolumeRestrictions |
	1<<decision.NodeVolumeLimits | 1<<decision.PodTopologySpread | 1<<decision.InterPodAffinity)

// stored are the rules about volumes.
const volumePluginSet = decision.PluginSet(1<<decision.VolumeRestrictions | 1<<decision.NodeVolumeLimits |
	1<<decision.VolumeBinding | 1<<decision.VolumeZone)

// Provider makes the Hints of pods on one state under one profile.
type Provider struct {
	state   *cluster.State
	index   *cluster.Index
	profile *framework.Profile
	filters decision.PluginSet
	loads   priorityLoads // of the node that was asked for last
	last    lastHints
}

// NewProvider returns a Provider. Like the state, it must not be used concurrently.
func NewProvider(s *cluster.State, p *framework.Profile) *Provider {
	pr := &Provider{state: s, index: s.Index(), profile: p}
	for _, f := range p.Config().Filter {
		pr.filters = pr.filters.With(f)
	}
	return pr
}

// Hints returns the Hints of an unschedulable pod. Pods with equal keys are decided alike.
func (p *Provider) Hints(pod *model.Pod) (key any, h *Hints) {
	framework.TrackSelectors(p.index, pod.Spec)
	k := hintKey{spec: pod.Spec, class: p.index.Class(pod.Namespace, pod.Labels), version: p.index.KeysVersion()}
	if p.profile.SpreadsByOwner(pod.Spec) {
		k.owner = framework.SpreadingOwner(pod)
	}
	if len(p.state.HoldsOf(pod.Namespace, pod.Owner.UID)) > 0 {
		k.holdOwner = pod.Owner.UID
	}
	if pod.NominatedNodeName != "" || len(pod.Spec.ResourceClaims) > 0 || hasEphemeralClaims(pod.Spec) {
		k.uid = pod.UID
	}
	if k == p.last.key && k.uid == "" {
		return p.last.boxedKey, p.last.hints
	}
	h = &Hints{provider: p, ev: &framework.Evaluation{State: p.state, Profile: p.profile, Pod: pod}}
	h.byHold = k.holdOwner != ""
	h.scalars = plugins.FilteredScalars(h.ev)
	h.preempts = p.profile.Config().Preemption && !pod.Spec.NeverPreempts
	h.preemptionPlugins = h.findPreemptionPlugins()
	key = k
	if k.uid == "" {
		p.last = lastHints{k, key, h}
	}
	return key, h
}

// lastHints is the Waiter that was asked for last of those that pods can have in common:
// mostly it is the next one, too.
type lastHints struct {
	key      hintKey
	boxedKey any
	hints    *Hints
}

func hasEphemeralClaims(s *model.PodSpec) bool {
	for i := range s.Claims {
		if s.Claims[i].Ephemeral {
			return true
		}
	}
	return false
}

func (h *Hints) findPreemptionPlugins() decision.PluginSet {
	s := h.ev.Pod.Spec
	hidden := decision.PluginSet(0).With(decision.NodeResourcesFit).With(decision.InterPodAffinity)
	if len(s.Ports) > 0 {
		hidden = hidden.With(decision.NodePorts)
	}
	if len(s.Features) > 0 {
		hidden = hidden.With(decision.NodeDeclaredFeatures)
	}
	if framework.HasVolumes(s) {
		hidden |= volumePluginSet
	}
	given := s.Spread
	if len(given) == 0 {
		given = h.provider.profile.DefaultConstraints()
	}
	for i := range given {
		if given[i].Hard {
			hidden = hidden.With(decision.PodTopologySpread)
		}
	}
	return hidden
}

// withPreemption adds to the rules that reject the pod those that may stand in the way of its preemption.
func (h *Hints) withPreemption(rejectedBy decision.PluginSet) decision.PluginSet {
	if h.preempts && rejectedBy&preemptible != 0 {
		return rejectedBy | h.preemptionPlugins
	}
	return rejectedBy
}

// EventsToRegister says which kinds of changes can undo a rejection of the pod by the rules.
func (h *Hints) EventsToRegister(rejectedBy decision.PluginSet) decision.ClusterEvents {
	if rejectedBy == 0 {
		return decision.AnyEvent
	}
	rejectedBy = h.withPreemption(rejectedBy)
	var c decision.ClusterEvents
	for r := decision.NoPlugin; r < decision.NumPlugins; r++ {
		if !rejectedBy.Has(r) {
			continue
		}
		events := plugins.Events(r)
		switch {
		case r == decision.InterPodAffinity && len(h.ev.Pod.Spec.Affinity) == 0:
			events &^= decision.PodAssigned // nobody's coming draws it
		case r == decision.NodePorts && h.preempts:
			events |= decision.PodAssigned // see helpsPod
		case r == decision.PodTopologySpread && len(h.ev.Pod.Spec.Spread) > 0:
			events &^= decision.SpreadGroupChanged // nothing is deduced for it
		}
		c |= events
	}
	if h.ev.Pod.NominatedNodeName != "" {
		c |= decision.PodRemoved | decision.NodeRemoved | decision.NodeTaintsChanged | decision.NodeLabelsChanged // see eligible
	}
	return c
}

// MayFit says whether a pod of the kind may fit a node by what the node itself says;
// if not, also is the rule that rejects it there.
func (h *Hints) MayFit(rejectedBy decision.PluginSet, node string) (may bool, also decision.PluginSet) {
	id, known := h.provider.state.NodeID(node)
	if !known {
		return false, 0 // its like is told when it comes back
	}
	r := h.filterNode(h.provider.state.Node(id))
	if r == decision.NoPlugin {
		return true, 0
	}
	return false, decision.PluginSet(0).With(r)
}

// hintForNode is the answer of Helps when all depends on one node.
func (h *Hints) hintForNode(rejectedBy decision.PluginSet, node string) (decision.QueueingHint, string, decision.PluginSet) {
	may, also := h.MayFit(rejectedBy, node)
	if may {
		return decision.QueueForNode, node, 0
	}
	return decision.QueueSkip, "", also
}
