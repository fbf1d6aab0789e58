package nodepressure

import (
	"slices"
	"strings"

	"github.com/berthproject/berth/engine/model"
)

// Admit reports whether the node admits a pod under its current pressure; if not, it returns the reason
// and message of the pod's status. Critical pods are always admitted. Under memory pressure alone,
// only BestEffort pods without a toleration are rejected. spec may be nil.
func (m *Machine) Admit(p *model.Pod, spec *EvictionSpec) (ok bool, reason, message string) {
	return admit(&m.conditions, p, spec)
}

func admit(conditions *[model.NumPressures]Condition, p *model.Pod, spec *EvictionSpec) (ok bool, reason, message string) {
	var names []string
	for _, k := range []model.Pressure{model.DiskPressure, model.MemoryPressure, model.PIDPressure} { // by name
		if conditions[k].True {
			names = append(names, conditionTypes[k])
		}
	}
	if len(names) == 0 || Critical(p, spec) {
		return true, "", ""
	}
	if len(names) == 1 && names[0] == conditionTypes[model.MemoryPressure] {
		taint := model.MemoryPressure.Taint()
		if !p.Spec.BestEffort || slices.ContainsFunc(p.Spec.Tolerations, func(t model.Toleration) bool { return t.ToleratesTaint(&taint, false) }) {
			return true, "", ""
		}
	}
	return false, ReasonEvicted, RejectionMessage(names...)
}

const rejectionPrefix = "The node had condition: ["

// RejectionMessage returns the kubelet's message for a pod that a node with the given conditions rejects.
func RejectionMessage(conditions ...string) string {
	return rejectionPrefix + strings.Join(conditions, " ") + "]. "
}

// RejectingConditions returns the conditions in a message of RejectionMessage. ok is false for other messages.
func RejectingConditions(message string) (conditions []string, ok bool) {
	list, ok := strings.CutPrefix(message, rejectionPrefix)
	list, _, _ = strings.Cut(list, "]")
	return strings.Fields(list), ok
}

var conditionTypes = [model.NumPressures]string{"MemoryPressure", "DiskPressure", "PIDPressure"}

// ConditionType returns the type of the node condition for a pressure.
func ConditionType(k model.Pressure) string { return conditionTypes[k] }

// conditionTexts are the reasons and messages of the conditions by pressure, each for False and True.
var conditionTexts = [model.NumPressures][2][2]string{
	{{"KubeletHasSufficientMemory", "kubelet has sufficient memory available"}, {"KubeletHasInsufficientMemory", "kubelet has insufficient memory available"}},
	{{"KubeletHasNoDiskPressure", "kubelet has no disk pressure"}, {"KubeletHasDiskPressure", "kubelet has disk pressure"}},
	{{"KubeletHasSufficientPID", "kubelet has sufficient PID available"}, {"KubeletHasInsufficientPID", "kubelet has insufficient PID available"}},
}

// ConditionText returns the reason and message of the condition for a pressure.
func ConditionText(k model.Pressure, status bool) (reason, message string) {
	text := conditionTexts[k][0]
	if status {
		text = conditionTexts[k][1]
	}
	return text[0], text[1]
}
