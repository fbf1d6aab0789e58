package placement

import (
	"github.com/berthproject/berth/engine/cluster"
	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/model"
)

// Waiter says what can help the waiting pods of one kind. A waiting pod is known
// to be rejected on each node by one of a set of rules, or everywhere by one of
// them. A change that none of these rules cares for leaves that as it is; of any other a
// Waiter says that it may help, or it names the rule that rejects the pod now where the
// change took place, which then joins the set. So nothing is missed, though what
// helps by the Waiter's word may turn out not to.
//
// A pod that may preempt is helped by what lets it fit once all pods of lower
// priority have left a node, too.
type Waiter struct {
	e        *Engine
	a        attempt // without sites
	preempts bool
	// held says that Holds tell the pods of this owner from others. Where not, an Avoid is nothing to
	// go by: it may be that of another owner, whose pod the Waiter was made of.
	held bool
	// hidden are rules that can stand in the way of preemption on a node without being
	// the first to reject it.
	hidden  decision.RuleSet
	scalars []model.Scalar
}

// waiterKey is what makes waiting pods equal.
type waiterKey struct {
	spec    *model.PodSpec
	class   *cluster.Class
	version uint64 // of what tells classes apart
	owner   model.Owner
	held    string // uid of the owner, where Holds tell its pods from others
	uid     string
}

// preemptible are the rules whose verdict can be undone by removing pods.
const preemptible = decision.RuleSet(1<<decision.NodePorts | 1<<decision.NodeResourcesFit | 1<<decision.VolumeRestrictions |
	1<<decision.NodeVolumeLimits | 1<<decision.PodTopologySpread | 1<<decision.InterPodAffinity)

// stored are the rules about volumes.
const volumeRules = decision.RuleSet(1<<decision.VolumeRestrictions | 1<<decision.NodeVolumeLimits |
	1<<decision.VolumeBinding | 1<<decision.VolumeZone)

// Waiter makes the Waiter of a pod. Pods with equal keys are decided alike.
func (e *Engine) Waiter(pod *model.Pod) (key any, w *Waiter) {
	e.useKeys(pod.Spec)
	k := waiterKey{spec: pod.Spec, class: e.index.Class(pod.Namespace, pod.Labels), version: e.index.KeysVersion()}
	if e.readsOwner(pod.Spec) {
		k.owner = ownerOf(pod)
	}
	if len(e.state.HoldsOf(pod.Namespace, pod.Owner.UID)) > 0 {
		k.held = pod.Owner.UID
	}
	if pod.Nominated != "" || len(pod.Spec.ResourceClaims) > 0 || ownsClaims(pod.Spec) {
		k.uid = pod.UID
	}
	if k == e.lastWaits.key && k.uid == "" {
		return e.lastWaits.boxed, e.lastWaits.w
	}
	w = &Waiter{e: e, a: attempt{state: e.state, profile: e.profile, pod: pod}}
	w.held = k.held != ""
	w.scalars = w.a.filteredScalars()
	w.preempts = e.profile.cfg.Preemption && !pod.Spec.NeverPreempts
	w.hidden = w.hides()
	key = k
	if k.uid == "" {
		e.lastWaits = lastWaits{k, key, w}
	}
	return key, w
}

// lastWaits is the Waiter that was asked for last of those that pods can have in common:
// mostly it is the next one, too.
type lastWaits struct {
	key   waiterKey
	boxed any
	w     *Waiter
}

func ownsClaims(s *model.PodSpec) bool {
	for i := range s.Claims {
		if s.Claims[i].Ephemeral {
			return true
		}
	}
	return false
}

func (w *Waiter) hides() decision.RuleSet {
	s := w.a.pod.Spec
	hidden := decision.RuleSet(0).With(decision.NodeResourcesFit).With(decision.InterPodAffinity)
	if len(s.Ports) > 0 {
		hidden = hidden.With(decision.NodePorts)
	}
	if len(s.Features) > 0 {
		hidden = hidden.With(decision.NodeDeclaredFeatures)
	}
	if hasVolumes(s) {
		hidden |= volumeRules
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

// all adds to the rules that reject the pod those that may stand in the way of its preemption.
func (w *Waiter) all(rules decision.RuleSet) decision.RuleSet {
	if w.preempts && rules&preemptible != 0 {
		return rules | w.hidden
	}
	return rules
}

// Cares says which kinds of changes can undo a rejection of the pod by the rules.
func (w *Waiter) Cares(rules decision.RuleSet) decision.Change {
	if rules == 0 {
		return decision.AnyChange
	}
	rules = w.all(rules)
	var c decision.Change
	for r := decision.NoRule; r < decision.NumRules; r++ {
		if !rules.Has(r) {
			continue
		}
		cares := wakes[r]
		switch {
		case r == decision.InterPodAffinity && len(w.a.pod.Spec.Affinity) == 0:
			cares &^= decision.PodAssigned // nobody's coming draws it
		case r == decision.NodePorts && w.preempts:
			cares |= decision.PodAssigned // see helpsPod
		case r == decision.PodTopologySpread && len(w.a.pod.Spec.Spread) > 0:
			cares &^= decision.GroupChanged // nothing is deduced for it
		}
		c |= cares
	}
	if w.a.pod.Nominated != "" {
		c |= decision.PodRemoved | decision.NodeRemoved | decision.NodeTaints | decision.NodeLabels // see eligible
	}
	return c
}

// Still says whether a pod of the kind may fit a node by what the node itself says;
// if not, also is the rule that rejects it there.
func (w *Waiter) Still(rules decision.RuleSet, node string) (may bool, also decision.RuleSet) {
	id, known := w.e.state.NodeID(node)
	if !known {
		return false, 0 // its like is told when it comes back
	}
	r := w.judge(w.e.state.Node(id))
	if r == decision.NoRule {
		return true, 0
	}
	return false, decision.RuleSet(0).With(r)
}

// at is the answer of Helps when all depends on one node.
func (w *Waiter) at(rules decision.RuleSet, node string) (decision.Help, string, decision.RuleSet) {
	may, also := w.Still(rules, node)
	if may {
		return decision.HelpsAt, node, 0
	}
	return decision.Helpless, "", also
}
