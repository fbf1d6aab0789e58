package nodepressure

import (
	"time"
)

const (
	// hardGrace is how many seconds a pod has that a hard threshold or a limit evicts.
	hardGrace = 1
	// defaultGrace is that of a pod that does not say.
	defaultGrace = 30
	// cleanupTimeout is how long a pod may take to be gone after its grace period.
	cleanupTimeout = 30 * time.Second
)

// reclaimable is what is to be collected before pods go for a signal.
func (m *Machine) reclaimable(s Signal) ReclaimNodeResources {
	l := m.config.Layout
	split := l.DedicatedImageFs && l.DedicatedContainerFs
	switch s {
	case NodeFsAvailable, NodeFsInodesFree:
		return ReclaimNodeResources{Containers: split || !l.DedicatedImageFs, Images: !l.DedicatedImageFs}
	case ImageFsAvailable, ImageFsInodesFree:
		return ReclaimNodeResources{Containers: !split, Images: true}
	case ContainerFsAvailable, ContainerFsInodesFree:
		return ReclaimNodeResources{Containers: true, Images: !split}
	}
	return ReclaimNodeResources{}
}

// pendingReclaim is what happens when collecting was not enough.
type pendingReclaim struct {
	threshold Threshold
	victim    *Evict // nil: there is nobody
}

// handleThreshold acts upon a threshold.
func (m *Machine) handleThreshold(now time.Time, o *Observation, t *Threshold, pods []Pod, effects []Effect) []Effect {
	effects = append(effects, ThresholdMet{Signal: t.Signal, Resource: t.Signal.Resource()})
	out := m.selectVictim(now, o, t, pods)
	if c := m.reclaimable(t.Signal); c != (ReclaimNodeResources{}) {
		m.pendingReclaim = &pendingReclaim{threshold: *t, victim: out}
		return append(effects, c)
	}
	return append(effects, m.evictSelected(now, t.Signal, out))
}

// evictSelected is that the pod goes, or that nobody can.
func (m *Machine) evictSelected(now time.Time, s Signal, out *Evict) Effect {
	if out == nil {
		return NoVictim{s}
	}
	m.victims[s.Pressure()] = victim{uid: out.Pod.UID, until: now.Add(time.Duration(out.Grace)*time.Second + cleanupTimeout), lastUsage: out.lastUsage}
	return *out
}

// Reclaimed takes in what is seen after all that Collect asked for is done: unless all
// thresholds are kept now, with their minimum reclaim and whatever their grace periods, the pod
// goes that was to go, if it still runs.
func (m *Machine) Reclaimed(now time.Time, o *Observation) []Effect {
	p := m.pendingReclaim
	m.pendingReclaim = nil
	if p == nil || !o.ReadFailed && m.allClear(o) || p.victim != nil && o.Pods != nil && !p.stillRunning(now, o.Pods()) {
		return nil
	}
	return []Effect{m.evictSelected(now, p.threshold.Signal, p.victim)}
}

// stillRunning says that the pod is there and may still be chosen, as choose has it.
func (p *pendingReclaim) stillRunning(now time.Time, pods []Pod) bool {
	for i := range pods {
		if pods[i].UID == p.victim.Pod.UID {
			return p.threshold.canEvict(now, &pods[i])
		}
	}
	return false
}

// allClear says that no threshold is passed.
func (m *Machine) allClear(o *Observation) bool {
	for i := range m.config.Thresholds {
		if m.thresholdMet(&m.config.Thresholds[i], o, true) {
			return false
		}
	}
	return true
}
