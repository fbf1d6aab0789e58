package drain

import (
	"slices"

	"github.com/berthproject/berth/engine/model"
)

// alreadyTerminating reports whether a pod terminates, or is deleted, without an eviction by the
// drain. The drain does not wait for its replacement.
func (m *Move) alreadyTerminating() bool { return m.stage == granted && m.Round == 0 }

// observeTerminating updates which terminating pods block their siblings. They do not if the
// owner has already replaced them and all its pods are Ready.
func (m *Machine) observeTerminating(v *View) {
	for _, x := range m.moves {
		blocks := x.alreadyTerminating() && !x.Deleted() && m.hasWaitingSiblings(x) && !isReplaced(v, x.Pod.Owner)
		if x.blocksSiblings && !blocks {
			m.acted = true // siblings may be evicted now: run another round
		}
		x.blocksSiblings = blocks
	}
}

// hasWaitingSiblings reports whether more pods of the workload are waiting.
func (m *Machine) hasWaitingSiblings(x *Move) bool {
	o := x.Pod.Owner.UID
	return o != "" && slices.ContainsFunc(m.moves, func(y *Move) bool { return y.stage == waiting && y.Pod.Owner.UID == o })
}

// isReplaced reports whether an owner, of a kind that replaces terminating pods at once, has only
// Ready pods.
func isReplaced(v *View, o model.Owner) bool {
	if o.Kind != "ReplicaSet" && o.Kind != "ReplicationController" {
		return false
	}
	return !slices.ContainsFunc(v.OwnedBy(o), func(p *model.Pod) bool { return !p.Deleting && !p.Ready })
}

// anyTerminating reports whether a pod terminates without an eviction by the drain.
func (m *Machine) anyTerminating() bool {
	return slices.ContainsFunc(m.moves, func(x *Move) bool { return x.alreadyTerminating() && !x.Deleted() })
}
