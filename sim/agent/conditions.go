package agent

import (
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berthproject/berth/agent"
	"github.com/berthproject/berth/internal/conversion"
)

// conditions adds the conditions that a scenario sets to the node pressure of a machine.
type conditions struct {
	agent.PressureManager
	m *machine
}

// Admit implements agent.PressureManager. Pods with requests are admitted under memory pressure.
func (c conditions) Admit(p *corev1.Pod) *agent.Rejection {
	if r := c.PressureManager.Admit(p); r != nil {
		return r
	}
	bestEffort := conversion.QoS(p) == corev1.PodQOSBestEffort
	for _, t := range []corev1.NodeConditionType{corev1.NodeDiskPressure, corev1.NodePIDPressure, corev1.NodeMemoryPressure} {
		if c.m.reports[t] == corev1.ConditionTrue && (t != corev1.NodeMemoryPressure || bestEffort) {
			return &agent.Rejection{Reason: "Evicted", Message: fmt.Sprintf("The node had condition: [%s]. ", t)}
		}
	}
	return nil
}

// Conditions implements agent.PressureManager.
func (c conditions) Conditions() []corev1.NodeCondition {
	out := c.PressureManager.Conditions()
	for _, t := range slices.Sorted(maps.Keys(c.m.reports)) {
		if t == corev1.NodeReady {
			continue
		}
		out = slices.DeleteFunc(out, func(o corev1.NodeCondition) bool { return o.Type == t })
		out = append(out, corev1.NodeCondition{Type: t, Status: c.m.reports[t], Reason: "Reported", LastTransitionTime: metav1.NewTime(c.m.a.w.Now())})
	}
	return out
}

// RestoreConditions implements agent.ConditionRestorer.
func (c conditions) RestoreConditions(list []corev1.NodeCondition) {
	if r, ok := c.PressureManager.(agent.ConditionRestorer); ok {
		r.RestoreConditions(slices.DeleteFunc(slices.Clone(list), func(o corev1.NodeCondition) bool { return c.m.reports[o.Type] != "" }))
	}
}

// ResumeEviction implements agent.EvictionResumer.
func (c conditions) ResumeEviction(p *corev1.Pod, since time.Time) (deadline time.Time, done func()) {
	if r, ok := c.PressureManager.(agent.EvictionResumer); ok {
		return r.ResumeEviction(p, since)
	}
	return since, func() {}
}

// ReportCondition makes a node's agent report a condition from now on.
func (a *Agents) ReportCondition(node string, conditionType corev1.NodeConditionType, status corev1.ConditionStatus) {
	if m := a.machine(node); m != nil {
		m.reports[conditionType] = status
		m.writeStatus()
	}
}

// clearReports ends the conditions of ReportCondition.
func (m *machine) clearReports() {
	if len(m.reports) == 0 {
		return
	}
	network := m.reports[corev1.NodeNetworkUnavailable]
	clear(m.reports)
	if network != "" { // the agent itself does not report this condition, so it would keep its status
		m.reports[corev1.NodeNetworkUnavailable] = corev1.ConditionFalse
	}
	m.writeStatus()
}
