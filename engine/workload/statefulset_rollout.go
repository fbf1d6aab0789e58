package workload

import "github.com/berthproject/berth/engine/model"

// ensureReplicas makes what is missing and clears what ended. It says whether the plan may go
// on: ordered, only if every replica does its work.
func (p *statefulPlanner) ensureReplicas() bool {
	for n, i := range p.slots {
		done := true
		switch {
		case i < 0:
			p.plan.Create = append(p.plan.Create, StatefulCreate{p.set.Start + int32(n), p.revision(n)})
			if len(p.plan.Create) == Burst {
				return false // the others when these are there
			}
			done = false
		case p.pods[i].Finished():
			p.deleteEnded(i)
			done = false
		default:
			done = p.healthy(i)
		}
		if !done && p.set.Ordered {
			return false
		}
	}
	return true
}

// deleteEnded deletes a pod that ended, so that it can be made again; one that failed not before its pause is over.
func (p *statefulPlanner) deleteEnded(i int) {
	switch pod := &p.pods[i]; {
	case pod.Deleting:
	case pod.Phase == model.Succeeded:
		p.delete(i, StatefulSucceeded)
	case pod.NotBefore.After(p.now):
		p.plan.Wake = earliest(p.plan.Wake, pod.NotBefore)
	default:
		p.delete(i, StatefulFailed)
	}
}

// scaleDown deletes pods that are too many, the highest number first. It says whether the plan may
// go on: ordered, only when there is none left.
//
// Ordered, a pod goes only while all others do their work; one that does not itself goes if
// it is the only one, or else nothing could ever go.
func (p *statefulPlanner) scaleDown() bool {
	for k := len(p.condemned) - 1; k >= 0; k-- {
		i := p.condemned[k]
		if !p.set.Ordered {
			if !p.pods[i].Deleting {
				p.delete(i, StatefulScaledDown)
			}
			continue
		}
		if !p.pods[i].Deleting && (p.healthy(i) || p.firstUnhealthy() == i) {
			p.delete(i, StatefulScaledDown)
		}
		return false
	}
	return true
}

// firstUnhealthy is the pod with the lowest number that does not do its work; -1 if there
// is none. When it is asked, all replicas do.
func (p *statefulPlanner) firstUnhealthy() int {
	for _, i := range p.condemned {
		if !p.healthy(i) {
			return i
		}
	}
	return -1
}

// rollingUpdate deletes pods of old revisions, the highest number first, so that they are made again of the
// new one: as many as MaxUnavailable says may be without work, those that have none anyway included.
func (p *statefulPlanner) rollingUpdate() {
	beyond := p.set.Replicas - int32(len(p.slots)) // missing, too
	allowed, down := p.set.MaxUnavailable-beyond, beyond
	for n, i := range p.slots {
		if p.healthy(i) {
			continue
		}
		down++
		if i < 0 || p.pods[i].Deleting || !p.outdated(n) {
			allowed--
		}
	}
	for n := len(p.slots) - 1; n >= 0 && allowed > 0; n-- {
		i := p.slots[n]
		if i < 0 || p.pods[i].Deleting || p.pods[i].Finished() || !p.outdated(n) {
			continue
		}
		if p.healthy(i) {
			if down >= p.set.MaxUnavailable {
				continue // another one that is down goes first
			}
			down++
		}
		p.delete(i, StatefulOutdated)
		allowed--
	}
}

// outdated says that the pod of a place is to be made again by the rolling update.
func (p *statefulPlanner) outdated(n int) bool {
	return n >= int(p.set.Partition) && p.pods[p.slots[n]].Revision != p.set.Update
}
