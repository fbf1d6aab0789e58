package queueinghints

import (
	"github.com/berthproject/berth/engine/cluster"
	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/placement/framework"
	"github.com/berthproject/berth/engine/placement/plugins"
)

// Hints gives the queueing hints for unschedulable pods with one key; it implements queue.QueueingHints. Such pods are
// rejected on each node by one of a set of plugins. An event that none of these plugins registered for does not change
// that. Any other event gets a positive hint, or the hint names the plugin that now rejects the pods on the node of the
// event. That plugin is added to the set. No event is missed, but a positive hint may be wrong.
//
// For a pod that may preempt, the hint is also positive if preempting all pods of lower priority on a node would make
// it fit.
type Hints struct {
	provider *Provider
	ev       *framework.Evaluation // without nodes
	preempts bool
	// byHold is set if the key includes the owner, because Holds exist for it. Otherwise Avoid
	// Holds are ignored, as the Hints may be shared with pods of other owners.
	byHold bool
	// preemptionPlugins may prevent preemption on a node without being the first to reject it.
	preemptionPlugins decision.PluginSet
	scalars           []model.Scalar
}

// hintKey is the key of pods with equal Hints.
type hintKey struct {
	spec      *model.PodSpec
	class     *cluster.PodClass
	version   uint64 // version of the pod classes
	owner     model.Owner
	holdOwner string // owner UID, if Holds exist for the owner
	uid       string
}

// preemptible are the plugins whose rejections removing pods may resolve.
const preemptible = decision.PluginSet(1<<decision.NodePorts | 1<<decision.NodeResourcesFit | 1<<decision.VolumeRestrictions |
	1<<decision.NodeVolumeLimits | 1<<decision.PodTopologySpread | 1<<decision.InterPodAffinity)

const volumePluginSet = decision.PluginSet(1<<decision.VolumeRestrictions | 1<<decision.NodeVolumeLimits |
	1<<decision.VolumeBinding | 1<<decision.VolumeZone)

// Provider creates the Hints of pods on one state under one profile.
type Provider struct {
	state   *cluster.State
	index   *cluster.Index
	profile *framework.Profile
	filters decision.PluginSet
	loads   priorityLoads // of the last requested node
	last    lastHints
}

// NewProvider returns a Provider. Calls must be serialized with changes of the state.
func NewProvider(s *cluster.State, p *framework.Profile) *Provider {
	pr := &Provider{state: s, index: s.Index(), profile: p}
	for _, f := range p.Config().Filter {
		pr.filters = pr.filters.With(f)
	}
	return pr
}

// Hints returns the Hints of an unschedulable pod. Pods with equal keys share them.
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

// lastHints is the last shareable result of Provider.Hints. The next call often requests
// the same.
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
	out := decision.PluginSet(0).With(decision.NodeResourcesFit).With(decision.InterPodAffinity)
	if len(s.Ports) > 0 {
		out = out.With(decision.NodePorts)
	}
	if len(s.Features) > 0 {
		out = out.With(decision.NodeDeclaredFeatures)
	}
	if framework.HasVolumes(s) {
		out |= volumePluginSet
	}
	constraints := s.Spread
	if len(constraints) == 0 {
		constraints = h.provider.profile.DefaultConstraints()
	}
	for i := range constraints {
		if constraints[i].Hard {
			out = out.With(decision.PodTopologySpread)
		}
	}
	return out
}

// withPreemption adds the plugins that may prevent preemption to those that rejected the
// pod.
func (h *Hints) withPreemption(rejectedBy decision.PluginSet) decision.PluginSet {
	if h.preempts && rejectedBy&preemptible != 0 {
		return rejectedBy | h.preemptionPlugins
	}
	return rejectedBy
}

// EventsToRegister returns the events that may make the pod schedulable after a rejection
// by plugins.
func (h *Hints) EventsToRegister(rejectedBy decision.PluginSet) decision.ClusterEvents {
	if rejectedBy == 0 {
		return decision.AnyEvent
	}
	rejectedBy = h.withPreemption(rejectedBy)
	var events decision.ClusterEvents
	for plugin := decision.NoPlugin; plugin < decision.NumPlugins; plugin++ {
		if !rejectedBy.Has(plugin) {
			continue
		}
		pluginEvents := plugins.Events(plugin)
		switch {
		case plugin == decision.InterPodAffinity && len(h.ev.Pod.Spec.Affinity) == 0:
			pluginEvents &^= decision.PodAssigned // without affinity no new pod makes it schedulable
		case plugin == decision.NodePorts && h.preempts:
			pluginEvents |= decision.PodAssigned // see hintPod
		case plugin == decision.PodTopologySpread && len(h.ev.Pod.Spec.Spread) > 0:
			pluginEvents &^= decision.SpreadGroupChanged // the default constraints are not used
		}
		events |= pluginEvents
	}
	if h.ev.Pod.NominatedNodeName != "" { // see isNominatedTo
		events |= decision.PodRemoved | decision.NodeRemoved | decision.NodeTaintsChanged | decision.NodeLabelsChanged
	}
	return events
}

// MayFit reports whether a pod may fit a node, regardless of other nodes. If not, added is
// the plugin that rejects it.
func (h *Hints) MayFit(node string) (fits bool, added decision.PluginSet) {
	id, ok := h.provider.state.NodeID(node)
	if !ok {
		return false, 0 // an event follows when the node is added again
	}
	plugin := h.filterNode(h.provider.state.Node(id))
	if plugin == decision.NoPlugin {
		return true, 0
	}
	return false, decision.PluginSet(0).With(plugin)
}

// hintForNode returns the hint for an event that affects a single node.
func (h *Hints) hintForNode(node string) (decision.QueueingHint, string, decision.PluginSet) {
	fits, added := h.MayFit(node)
	if fits {
		return decision.QueueForNode, node, 0
	}
	return decision.QueueSkip, "", added
}
