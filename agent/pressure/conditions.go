package pressure

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berthproject/berth/agent"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/nodepressure"
	"github.com/berthproject/berth/internal/conversion"
)

// OutOfDisk is the condition of a node whose file systems have less free space than the reserve.
const OutOfDisk corev1.NodeConditionType = nodepressure.ReasonOutOfDisk

// Admit returns why the node rejects the pod now, or nil.
func (s *Manager) Admit(pod *corev1.Pod) *agent.Rejection {
	p, terms := s.converter.Pod(pod), conversion.PressureTerms(pod)
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

// Conditions converts the conditions of a machine and, if outOfDisk, of a reserve to node
// conditions. The transition time of a condition that never changed is begun.
func Conditions(m *nodepressure.Machine, r *nodepressure.DiskReserve, start time.Time, outOfDisk bool) (out []corev1.NodeCondition) {
	add := func(of corev1.NodeConditionType, c nodepressure.Condition, reason, message string) {
		status, since := corev1.ConditionFalse, c.Since
		if c.True {
			status = corev1.ConditionTrue
		}
		if since.IsZero() {
			since = start
		}
		out = append(out, corev1.NodeCondition{Type: of, Status: status, Reason: reason, Message: message, LastTransitionTime: metav1.NewTime(since)})
	}
	for k, c := range m.Conditions() {
		reason, message := nodepressure.ConditionText(model.Pressure(k), c.True)
		add(corev1.NodeConditionType(nodepressure.ConditionType(model.Pressure(k))), c, reason, message)
	}
	if outOfDisk {
		reason, message := r.ConditionText()
		add(OutOfDisk, r.Condition(), reason, message)
	}
	return out
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
	is, first := s.reserve.Condition().True, !s.reportedReserve
	s.reportedReserve = true
	_, message := s.reserve.ConditionText()
	s.mu.Unlock()
	switch {
	case is:
		s.opts.Log.Info("Node is out of disk space and rejects new pods", "node", s.opts.Node, "message", message)
		s.recordNodeEvent("NodeOutOfDisk", message)
	case !first: // an agent starts with the condition false
		s.opts.Log.Info("Node has sufficient disk space again", "node", s.opts.Node)
		s.recordNodeEvent("NodeHasSufficientDisk", message)
	}
}
