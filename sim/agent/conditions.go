package agent

import (
	"errors"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berthproject/berth/agent"
	"github.com/berthproject/berth/engine/nodepressure"
	"github.com/berthproject/berth/internal/conversion"
	"github.com/berthproject/berth/sim/store"
)

// pressureConditions are the conditions that an agent always writes, besides Ready.
var pressureConditions = []corev1.NodeConditionType{corev1.NodeDiskPressure, corev1.NodePIDPressure, corev1.NodeMemoryPressure}

// conditions adds the conditions that a scenario sets to the node pressure of a machine.
type conditions struct {
	agent.PressureManager
	m *machine
}

// Admit implements agent.PressureManager. Memory pressure that a scenario sets rejects only BestEffort pods.
func (c conditions) Admit(p *corev1.Pod) *agent.Rejection {
	if r := c.PressureManager.Admit(p); r != nil {
		return r
	}
	bestEffort := conversion.QoS(p) == corev1.PodQOSBestEffort
	for _, t := range pressureConditions {
		if c.m.setConditions[t] == corev1.ConditionTrue && (t != corev1.NodeMemoryPressure || bestEffort) {
			return &agent.Rejection{Reason: nodepressure.ReasonEvicted, Message: nodepressure.RejectionMessage(string(t))}
		}
	}
	return nil
}

// Conditions implements agent.PressureManager.
func (c conditions) Conditions() []corev1.NodeCondition {
	out := c.PressureManager.Conditions()
	for _, t := range slices.Sorted(maps.Keys(c.m.setConditions)) {
		if t == corev1.NodeReady {
			continue
		}
		out = slices.DeleteFunc(out, func(o corev1.NodeCondition) bool { return o.Type == t })
		out = append(out, corev1.NodeCondition{Type: t, Status: c.m.setConditions[t], Reason: "Reported", LastTransitionTime: metav1.NewTime(c.m.a.w.Now())})
	}
	return out
}

// RestoreConditions implements agent.ConditionRestorer.
func (c conditions) RestoreConditions(list []corev1.NodeCondition) {
	if r, ok := c.PressureManager.(agent.ConditionRestorer); ok {
		r.RestoreConditions(slices.DeleteFunc(slices.Clone(list), func(o corev1.NodeCondition) bool { return c.m.setConditions[o.Type] != "" }))
	}
}

// ResumeEviction implements agent.EvictionResumer.
func (c conditions) ResumeEviction(p *corev1.Pod, since time.Time) (deadline time.Time, done func()) {
	if r, ok := c.PressureManager.(agent.EvictionResumer); ok {
		return r.ResumeEviction(p, since)
	}
	return since, func() {}
}

// ready is the readiness check of the agent.
func (m *machine) ready(string) error {
	if m.setConditions[corev1.NodeReady] == corev1.ConditionFalse {
		return errors.New("the scenario reports Ready=False")
	}
	return nil
}

// ReportCondition makes a node's agent report a condition from now on.
func (a *Agents) ReportCondition(node string, conditionType corev1.NodeConditionType, status corev1.ConditionStatus) {
	if m := a.findMachine(node); m != nil {
		m.setConditions[conditionType] = status
		m.writeStatus()
	}
}

// clearConditions ends the conditions of ReportCondition.
func (m *machine) clearConditions() {
	if len(m.setConditions) == 0 {
		return
	}
	network := m.setConditions[corev1.NodeNetworkUnavailable]
	clear(m.setConditions)
	if network != "" { // the agent itself does not report this condition, so it would keep its status
		m.setConditions[corev1.NodeNetworkUnavailable] = corev1.ConditionFalse
	}
	m.writeStatus()
}

// isOutdated reports whether a condition of the node differs from what the agent would write. Conditions of other writers
// do not matter. An idle machine keeps the pressure that the node has, but not the status Unknown.
func (m *machine) isOutdated(n *corev1.Node) bool {
	want := map[corev1.NodeConditionType]corev1.ConditionStatus{corev1.NodeReady: corev1.ConditionTrue}
	for _, t := range pressureConditions {
		if m.process != nil || store.NodeConditionStatus(n, t) == corev1.ConditionUnknown {
			want[t] = corev1.ConditionFalse
		}
	}
	if m.process != nil {
		for _, c := range m.process.pressure.Node(m.name).Conditions() {
			want[c.Type] = c.Status
		}
	}
	maps.Copy(want, m.setConditions)
	for t, status := range want {
		got := store.NodeConditionStatus(n, t)
		if isMissing := got == "" && status == corev1.ConditionFalse; got != status && !isMissing {
			return true
		}
	}
	return false
}
