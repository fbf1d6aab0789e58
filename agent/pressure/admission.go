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
func (s *Manager) Admit(pod *corev1.Pod) *agent.Rejection {
	p, terms := s.converter.Pod(pod), conversion.EvictionSpec(pod)
	s.mu.Lock()
	defer s.mu.Unlock()
	if ok, reason, message := s.machine.Admit(p, terms); !ok {
		return &agent.Rejection{Reason: reason, Message: message}
	}
	if ok, reason, message := s.reserve.Admit(time.Now()); !ok {
		return &agent.Rejection{Reason: reason, Message: message}
	}
	return nil
}

// Conditions returns the node conditions that the manager maintains.
func (s *Manager) Conditions() []corev1.NodeCondition {
	s.mu.Lock()
	defer s.mu.Unlock()
	return Conditions(s.machine, s.reserve, s.started, s.opts.Reserve.Bytes != ([nodepressure.NumFilesystems]int64{}))
}

// Taints returns the taint for OutOfDisk. The node lifecycle controller sets the taints of the
// other conditions.
func (s *Manager) Taints() []corev1.Taint {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.reserve.Condition().True {
		return nil
	}
	return []corev1.Taint{{Key: nodepressure.TaintOutOfDisk, Effect: corev1.TaintEffectNoSchedule}}
}

// reportOutOfDisk reports a change of OutOfDisk in the node's status, in the log and as an event.
func (s *Manager) reportOutOfDisk() {
	s.agent.Report(s.opts.Node)
	s.mu.Lock()
	outOfDisk, first := s.reserve.Condition().True, !s.reportedReserve
	s.reportedReserve = true
	_, message := s.reserve.ConditionText()
	s.mu.Unlock()
	switch {
	case outOfDisk:
		s.opts.Log.Info("Node is out of disk space and rejects new pods", "node", s.opts.Node, "message", message)
		s.recordNodeEvent(corev1.EventTypeWarning, "NodeOutOfDisk", message)
	case !first: // an agent starts with the condition false
		s.opts.Log.Info("Node has sufficient disk space again", "node", s.opts.Node)
		s.recordNodeEvent(corev1.EventTypeNormal, "NodeHasSufficientDisk", message)
	}
}
