package drain

import (
	"slices"

	"github.com/berthproject/berth/engine/model"
)

// alreadyTerminating says that a pod is on its way out, or gone, and the drain has not asked for that:
// it was deleted before, or by somebody else. Nothing comes for it that the drain would wait for.
func (m *Move) alreadyTerminating() bool { return m.stage == granted && m.Round == 0 }

// observeTerminating says of each pod that is leaving whether others of its workload, which are still to go,
// wait until it is gone. They do not where its owner has made another one already and all are
// Ready, as nothing is missing then.
func (m *Machine) observeTerminating(v *View) {
	for _, x := range m.moves {
		delays := x.alreadyTerminating() && !x.Gone() && m.hasWaitingSiblings(x) && !replacedAlready(v, x.Pod.Owner)
		if x.blocksSiblings && !delays {
			m.acted = true // others may go now: there is another round
		}
		x.blocksSiblings = delays
	}
}

// hasWaitingSiblings says that more pods of a move's workload are still to go.
func (m *Machine) hasWaitingSiblings(x *Move) bool {
	o := x.Pod.Owner.UID
	return o != "" && slices.ContainsFunc(m.moves, func(y *Move) bool { return y.stage == waiting && y.Pod.Owner.UID == o })
}

// replacedAlready says that an owner, which does not wait for a pod to be gone before it makes
// another, has none that is not Ready.
func replacedAlready(v *View, o model.Owner) bool {
	if o.Kind != "ReplicaSet" && o.Kind != "ReplicationController" {
		return false
	}
	return !slices.ContainsFunc(v.OwnedBy(o), func(p *model.Pod) bool { return !p.Deleting && !p.Ready })
}

// anyTerminating says that a pod is there that goes without having been asked to.
func (m *Machine) anyTerminating() bool {
	return slices.ContainsFunc(m.moves, func(x *Move) bool { return x.alreadyTerminating() && !x.Gone() })
}
