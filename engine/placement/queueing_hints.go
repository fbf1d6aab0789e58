package placement

import (
	"github.com/berthproject/berth/engine/cluster"
	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/model"
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
type QueueingHints struct {
	e        *Engine
	a        attempt // without sites
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

// QueueingHints makes the Waiter of a pod. Pods with equal keys are decided alike.
func (e *Engine) QueueingHints(pod *model.Pod) (key any, w *QueueingHints) {
	e.trackSelectors(pod.Spec)
	k := hintKey{spec: pod.Spec, class: e.index.Class(pod.Namespace, pod.Labels), version: e.index.KeysVersion()}
	if e.dependsOnOwner(pod.Spec) {
		k.owner = spreadingOwner(pod)
	}
	if len(e.state.HoldsOf(pod.Namespace, pod.Owner.UID)) > 0 {
		k.holdOwner = pod.Owner.UID
	}
	if pod.NominatedNodeName != "" || len(pod.Spec.ResourceClaims) > 0 || hasEphemeralClaims(pod.Spec) {
		k.uid = pod.UID
	}
	if k == e.lastHints.key && k.uid == "" {
		return e.lastHints.boxedKey, e.lastHints.hints
	}
	w = &QueueingHints{e: e, a: attempt{state: e.state, profile: e.profile, pod: pod}}
	w.byHold = k.holdOwner != ""
	w.scalars = w.a.filteredScalars()
	w.preempts = e.profile.cfg.Preemption && !pod.Spec.NeverPreempts
	w.preemptionPlugins = w.findPreemptionPlugins()
	key = k
	if k.uid == "" {
		e.lastHints = lastHints{k, key, w}
	}
	return key, w
}

// lastHints is the Waiter that was asked for last of those that pods can have in common:
// mostly it is the next one, too.
type lastHints struct {
	key      hintKey
	boxedKey any
	hints    *QueueingHints
}

func hasEphemeralClaims(s *model.PodSpec) bool {
	for i := range s.Claims {
		if s.Claims[i].Ephemeral {
			return true
		}
	}
	return false
}

func (w *QueueingHints) findPreemptionPlugins() decision.PluginSet {
	s := w.a.pod.Spec
	hidden := decision.PluginSet(0).With(decision.NodeResourcesFit).With(decision.InterPodAffinity)
	if len(s.Ports) > 0 {
		hidden = hidden.With(decision.NodePorts)
	}
	if len(s.Features) > 0 {
		hidden = hidden.With(decision.NodeDeclaredFeatures)
	}
	if hasVolumes(s) {
		hidden |= volumePluginSet
	}
	given := s.Spread
	if len(given) == 0 {
		given = w.e.profile.spread
	}
	for i := range given {
		if given[i].Hard {
			hidden = hidden.With(decision.PodTopologySpread)
		}
	}
	return hidden
}

// withPreemption adds to the rules that reject the pod those that may stand in the way of its preemption.
func (w *QueueingHints) withPreemption(plugins decision.PluginSet) decision.PluginSet {
	if w.preempts && plugins&preemptible != 0 {
		return plugins | w.preemptionPlugins
	}
	return plugins
}

// EventsToRegister says which kinds of changes can undo a rejection of the pod by the rules.
func (w *QueueingHints) EventsToRegister(plugins decision.PluginSet) decision.ClusterEvents {
	if plugins == 0 {
		return decision.AnyEvent
	}
	plugins = w.withPreemption(plugins)
	var c decision.ClusterEvents
	for r := decision.NoPlugin; r < decision.NumPlugins; r++ {
		if !plugins.Has(r) {
			continue
		}
		events := eventsToRegister[r]
		switch {
		case r == decision.InterPodAffinity && len(w.a.pod.Spec.Affinity) == 0:
			events &^= decision.PodAssigned // nobody's coming draws it
		case r == decision.NodePorts && w.preempts:
			events |= decision.PodAssigned // see helpsPod
		case r == decision.PodTopologySpread && len(w.a.pod.Spec.Spread) > 0:
			events &^= decision.SpreadGroupChanged // nothing is deduced for it
		}
		c |= events
	}
	if w.a.pod.NominatedNodeName != "" {
		c |= decision.PodRemoved | decision.NodeRemoved | decision.NodeTaintsChanged | decision.NodeLabelsChanged // see eligible
	}
	return c
}

// MayFit says whether a pod of the kind may fit a node by what the node itself says;
// if not, also is the rule that rejects it there.
func (w *QueueingHints) MayFit(plugins decision.PluginSet, node string) (may bool, also decision.PluginSet) {
	id, known := w.e.state.NodeID(node)
	if !known {
		return false, 0 // its like is told when it comes back
	}
	r := w.filterNode(w.e.state.Node(id))
	if r == decision.NoPlugin {
		return true, 0
	}
	return false, decision.PluginSet(0).With(r)
}

// hintForNode is the answer of Helps when all depends on one node.
func (w *QueueingHints) hintForNode(plugins decision.PluginSet, node string) (decision.QueueingHint, string, decision.PluginSet) {
	may, also := w.MayFit(plugins, node)
	if may {
		return decision.QueueForNode, node, 0
	}
	return decision.QueueSkip, "", also
}
