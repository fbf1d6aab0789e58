package workload

import (
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/order"
)

// ensureReplicas creates missing pods and deletes finished ones. It reports whether the plan may
// continue: with Ordered, only if every replica is healthy.
func (p *statefulPlanner) ensureReplicas() bool {
	for n, i := range p.slots {
		healthy := false
		switch {
		case i < 0:
			p.plan.Create = append(p.plan.Create, StatefulCreate{p.set.Start + int32(n), p.revision(n)})
			if len(p.plan.Create) == Burst {
				return false // the next plan creates the others
			}
		case p.pods[i].Finished():
			p.deleteFinished(i)
		default:
			healthy = p.healthy(i)
		}
		if !healthy && p.set.Ordered {
			return false
		}
	}
	return true
}

// deleteFinished deletes a finished pod so that it can be replaced. A failed pod is deleted only after
// its backoff.
func (p *statefulPlanner) deleteFinished(i int) {
	switch pod := &p.pods[i]; {
	case pod.Deleting:
	case pod.Phase == model.Succeeded:
		p.delete(i, StatefulSucceeded)
	case pod.NotBefore.After(p.now):
		p.plan.Wake = order.Earliest(p.plan.Wake, pod.NotBefore)
	default:
		p.delete(i, StatefulFailed)
	}
}

// scaleDown deletes excess pods, the highest ordinal first. It reports whether the plan may continue: with
// Ordered, only if none remains.
//
// With Ordered, pods are deleted one at a time. An unhealthy pod is deleted only if all other excess pods
// are healthy; otherwise scaleDown waits for it.
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

// firstUnhealthy returns the unhealthy excess pod with the lowest ordinal, or -1. All replicas are
// healthy when it is called.
func (p *statefulPlanner) firstUnhealthy() int {
	for _, i := range p.condemned {
		if !p.healthy(i) {
			return i
		}
	}
	return -1
}

// rollingUpdate deletes pods of old revisions, the highest ordinal first, within MaxUnavailable.
// Pods that are already unavailable count.
func (p *statefulPlanner) rollingUpdate() {
	missing := p.set.Replicas - int32(len(p.slots)) // ordinals beyond the plan's size
	allowed, unavailable := p.set.MaxUnavailable-missing, missing
	for n, i := range p.slots {
		if p.healthy(i) {
			continue
		}
		unavailable++
		if i < 0 || p.pods[i].Deleting || !p.isOutdated(n) {
			allowed--
		}
	}
	for n := len(p.slots) - 1; n >= 0 && allowed > 0; n-- {
		i := p.slots[n]
		if i < 0 || p.pods[i].Deleting || p.pods[i].Finished() || !p.isOutdated(n) {
			continue
		}
		if p.healthy(i) {
			if unavailable >= p.set.MaxUnavailable {
				continue // unavailable pods are replaced first
			}
			unavailable++
		}
		p.delete(i, StatefulOutdated)
		allowed--
	}
}

// isOutdated reports whether the rolling update replaces the pod of a slot.
func (p *statefulPlanner) isOutdated(n int) bool {
	return n >= int(p.set.Partition) && p.pods[p.slots[n]].Revision != p.set.Update
}
