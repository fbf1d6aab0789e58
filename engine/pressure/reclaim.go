package pressure

import (
	"time"
)

const (
	// hardGrace is how many seconds a pod has that a hard threshold or a limit evicts.
	hardGrace = 1
	// defaultGrace is that of a pod that does not say.
	defaultGrace = 30
	// cleanup is how long a pod may take to be gone after its grace period.
	cleanup = 30 * time.Second
)

// collects is what is to be collected before pods go for a signal.
func (m *Machine) collects(s Signal) Collect {
	l := m.config.Layout
	split := l.DedicatedImageFs && l.DedicatedContainerFs
	switch s {
	case NodeFsAvailable, NodeFsInodesFree:
		return Collect{Containers: split || !l.DedicatedImageFs, Images: !l.DedicatedImageFs}
	case ImageFsAvailable, ImageFsInodesFree:
		return Collect{Containers: !split, Images: true}
	case ContainerFsAvailable, ContainerFsInodesFree:
		return Collect{Containers: true, Images: !split}
	}
	return Collect{}
}

// pending is what happens when collecting was not enough.
type pending struct {
	threshold Threshold
	out       *Evict // nil: there is nobody
}

// reclaim acts upon a threshold.
func (m *Machine) reclaim(now time.Time, o *Observation, t *Threshold, pods []Pod, effects []Effect) []Effect {
	effects = append(effects, Announce{Signal: t.Signal, Resource: t.Signal.Resource()})
	out := m.choose(now, o, t, pods)
	if c := m.collects(t.Signal); c != (Collect{}) {
		m.pending = &pending{threshold: *t, out: out}
		return append(effects, c)
	}
	return append(effects, m.goes(now, t.Signal, out))
}

// goes is that the pod goes, or that nobody can.
func (m *Machine) goes(now time.Time, s Signal, out *Evict) Effect {
	if out == nil {
		return Unable{s}
	}
	m.victims[s.Pressure()] = victim{uid: out.Pod.UID, until: now.Add(time.Duration(out.Grace)*time.Second + cleanup), holds: out.holds}
	return *out
}

// Collected takes in what is seen after all that Collect asked for is done: unless all
// thresholds are kept now, with their minimum reclaim and whatever their grace periods, the pod
// goes that was to go, if it still runs.
func (m *Machine) Collected(now time.Time, o *Observation) []Effect {
	p := m.pending
	m.pending = nil
	if p == nil || !o.Unread && m.enough(o) || p.out != nil && o.Pods != nil && !p.runs(now, o.Pods()) {
		return nil
	}
	return []Effect{m.goes(now, p.threshold.Signal, p.out)}
}

// runs says that the pod is there and may still be chosen, as choose has it.
func (p *pending) runs(now time.Time, pods []Pod) bool {
	for i := range pods {
		if pods[i].UID == p.out.Pod.UID {
			return p.threshold.mayEnd(now, &pods[i])
		}
	}
	return false
}

// enough says that no threshold is passed.
func (m *Machine) enough(o *Observation) bool {
	for i := range m.config.Thresholds {
		if m.below(&m.config.Thresholds[i], o, true) {
			return false
		}
	}
	return true
}
