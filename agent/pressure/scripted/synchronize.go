package scripted

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/berthproject/berth/agent/pressure"
	"github.com/berthproject/berth/engine/nodepressure"
)

// synchronize observes the node, steps the machine and executes the effects once. It returns the time of the next
// check; zero means on the next change.
func (m *Manager) synchronize(n *node, now time.Time) (next time.Time) {
	list := m.agent.Pods(n.name)
	n.mu.Lock()
	var effects []nodepressure.Effect
	setTerminating := func(e nodepressure.Effect) {
		if evict, ok := e.(nodepressure.Evict); ok {
			deadline := now
			if !isImmediate(&evict) {
				deadline = now.Add(time.Duration(evict.Grace) * time.Second)
			}
			n.terminating[types.UID(evict.Pod.UID)] = deadline
		}
	}
	if n.collection != nil && !now.Before(n.collectionDone) {
		n.usage.Reclaim(now, *n.collection)
		n.collection = nil
		o, _ := n.observe(now, list)
		effects = n.machine.Reclaimed(now, &o)
		for _, e := range effects { // before Step, which must see the terminating pods
			setTerminating(e)
		}
	}
	o, scripted := n.observe(now, list)
	stepEffects, wake := n.machine.Step(now, &o)
	effects = append(effects, stepEffects...)
	changed := n.reserve.Update(now) && (n.wasOutOfDisk || n.reserve.Condition().True)
	n.wasOutOfDisk = n.wasOutOfDisk || n.reserve.Condition().True
	noPressure := !n.reserve.Condition().True && !n.machine.Reclaiming()
	for _, c := range n.machine.Conditions() {
		noPressure = noPressure && !c.True
	}
	for _, e := range effects {
		setTerminating(e)
		switch e := e.(type) {
		case nodepressure.ReclaimNodeResources:
			n.collection, n.collectionDone = &e, now.Add(collectDuration)
		case nodepressure.ConditionChanged:
			changed = true
		}
	}
	n.mu.Unlock()
	for _, e := range effects {
		m.report(n, list, e, now)
	}
	if changed {
		m.agent.Report(n.name)
	}
	if !scripted && n.usage.NodeScript.Empty() && noPressure {
		return time.Time{}
	}
	if next = now.Add(syncInterval); wake.After(now) && wake.Before(next) {
		next = wake
	}
	return next
}

// report reports an effect through events and the agent.
func (m *Manager) report(n *node, list []*corev1.Pod, e nodepressure.Effect, now time.Time) {
	if m.opts.OnEffect != nil {
		m.opts.OnEffect(n.name, e)
	}
	switch e := e.(type) {
	case nodepressure.ThresholdMet:
		if m.opts.Events != nil {
			m.opts.Events.Event(&corev1.ObjectReference{Kind: "Node", Name: n.name, UID: types.UID(n.name)}, corev1.EventTypeWarning,
				nodepressure.ReasonThresholdMet, "Attempting to reclaim "+e.Resource)
		}
	case nodepressure.NoVictim:
		m.opts.Log.V(2).Info("Unable to evict any pods", "node", n.name, "signal", e.Signal.String())
	case nodepressure.Evict:
		for _, p := range list {
			if string(p.UID) == e.Pod.UID {
				m.evict(n, p, &e, now)
			}
		}
	}
}

// isImmediate reports whether a pod is killed without a grace period.
func isImmediate(e *nodepressure.Evict) bool { return e.Condition && e.Grace <= 1 }

func (m *Manager) evict(n *node, p *corev1.Pod, e *nodepressure.Evict, now time.Time) {
	m.agent.Evict(pressure.NewEviction(p, e, isImmediate(e), now, func() { n.podTerminated(p.UID) }))
	pressure.RecordEviction(m.opts.Events, p, e, now)
}

// podTerminated is called when no process of an evicted pod remains.
func (n *node) podTerminated(uid types.UID) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.terminating, uid)
}
