//go:build linux

package pressure

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/berthproject/berth/agent"
	"github.com/berthproject/berth/engine/nodepressure"
	"github.com/berthproject/berth/internal/conversion"
)

// Admit returns the reason for which the node rejects the pod now, or nil.
func (m *Manager) Admit(pod *corev1.Pod) *agent.Rejection {
	p, terms := m.converter.Pod(pod), conversion.EvictionSpec(pod)
	m.mu.Lock()
	defer m.mu.Unlock()
	if ok, reason, message := m.machine.Admit(p, terms); !ok {
		return &agent.Rejection{Reason: reason, Message: message}
	}
	if ok, reason, message := m.reserve.Admit(time.Now()); !ok {
		return &agent.Rejection{Reason: reason, Message: message}
	}
	return nil
}

// Conditions returns the node conditions that the manager maintains.
func (m *Manager) Conditions() []corev1.NodeCondition {
	m.mu.Lock()
	defer m.mu.Unlock()
	return Conditions(m.machine, m.reserve, m.started, m.opts.Reserve.Bytes != ([nodepressure.NumFilesystems]int64{}))
}

// Taints returns the taint for OutOfDisk. The node lifecycle controller sets the taints of the
// other conditions.
func (m *Manager) Taints() []corev1.Taint {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.reserve.Condition().True {
		return nil
	}
	return []corev1.Taint{{Key: nodepressure.TaintOutOfDisk, Effect: corev1.TaintEffectNoSchedule}}
}

// reportOutOfDisk reports a change of OutOfDisk in the node's status, in the log and as an event.
func (m *Manager) reportOutOfDisk() {
	m.agent.Report(m.opts.Node)
	m.mu.Lock()
	outOfDisk, first := m.reserve.Condition().True, !m.reportedReserve
	m.reportedReserve = true
	_, message := m.reserve.ConditionText()
	m.mu.Unlock()
	switch {
	case outOfDisk:
		m.opts.Log.Info("Node is out of disk space and rejects new pods", "node", m.opts.Node, "message", message)
		m.recordNodeEvent(corev1.EventTypeWarning, "NodeOutOfDisk", message)
	case !first: // an agent starts with the condition false
		m.opts.Log.Info("Node has sufficient disk space again", "node", m.opts.Node)
		m.recordNodeEvent(corev1.EventTypeNormal, "NodeHasSufficientDisk", message)
	}
}
