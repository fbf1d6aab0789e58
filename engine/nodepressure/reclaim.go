package nodepressure

import "time"

const (
	// hardGrace is the grace period in seconds for a hard threshold or a limit.
	hardGrace = 1
	// defaultGrace is the grace period in seconds of a pod without one.
	defaultGrace = 30
	// cleanupTimeout is how long a pod may take to disappear after its grace period.
	cleanupTimeout = 30 * time.Second
)

// reclaimable returns what to reclaim for a signal before pods are evicted.
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

// pendingReclaim is the eviction that follows if reclaiming is not enough.
type pendingReclaim struct {
	threshold Threshold
	victim    *Evict // nil: no pod can be evicted
}

func (m *Machine) handleThreshold(now time.Time, o *Observation, t *Threshold, pods []Pod, effects []Effect) []Effect {
	effects = append(effects, ThresholdMet{Signal: t.Signal, Resource: t.Signal.Resource()})
	selected := m.selectVictim(now, o, t, pods)
	if c := m.reclaimable(t.Signal); c != (ReclaimNodeResources{}) {
		m.pendingReclaim = &pendingReclaim{threshold: *t, victim: selected}
		return append(effects, c)
	}
	return append(effects, m.evictSelected(now, t.Signal, selected))
}

// evictSelected returns the eviction of the selected pod, or NoVictim if e is nil.
func (m *Machine) evictSelected(now time.Time, s Signal, e *Evict) Effect {
	if e == nil {
		return NoVictim{s}
	}
	m.victims[s.Pressure()] = victim{uid: e.Pod.UID, until: now.Add(time.Duration(e.Grace)*time.Second + cleanupTimeout), lastUsage: e.lastUsage}
	return *e
}

// Reclaimed applies the observation after ReclaimNodeResources. Unless all thresholds are cleared, with
// their minimum reclaim and regardless of grace periods, the selected pod is evicted if it still
// runs.
func (m *Machine) Reclaimed(now time.Time, o *Observation) []Effect {
	p := m.pendingReclaim
	m.pendingReclaim = nil
	if p == nil || !o.ReadFailed && m.allCleared(o) || p.victim != nil && o.Pods != nil && !p.isRunning(now, o.Pods()) {
		return nil
	}
	return []Effect{m.evictSelected(now, p.threshold.Signal, p.victim)}
}

// isRunning reports whether the selected pod still runs and may be evicted.
func (p *pendingReclaim) isRunning(now time.Time, pods []Pod) bool {
	for i := range pods {
		if pods[i].UID == p.victim.Pod.UID {
			return p.threshold.canEvict(now, &pods[i])
		}
	}
	return false
}

// allCleared reports whether no threshold is met.
func (m *Machine) allCleared(o *Observation) bool {
	for i := range m.config.Thresholds {
		if m.thresholdMet(&m.config.Thresholds[i], o, true) {
			return false
		}
	}
	return true
}
