package displacement

import (
	"strings"

	"github.com/berthproject/berth/engine/nodepressure"
)

// CauseFromStatus returns the cause that a pod's status shows. It evaluates the reason of the
// DisruptionTarget condition (empty if that is not True), and the pod's own reason and message. None means
// that the pod was not displaced.
//
// The kubelet uses one condition reason for every cause. The pod's own reason distinguishes them: Evicted for
// pressure, Terminated or NodeShutdown for a shutdown, Preempting for a critical pod admitted in its place.
// A rejected pod has no condition; one that a node under pressure rejected has the reason Evicted, too.
func CauseFromStatus(condition, reason, message string) Cause {
	for _, c := range Causes() {
		if c.Reason() == condition && !c.ByNode() {
			return c
		}
	}
	rejected := strings.HasPrefix(message, "Pod was rejected") || condition == "" && isPressureRejection(message)
	switch {
	case reason == "Terminated" && condition == reasonKubelet, reason == "NodeShutdown":
		return Shutdown
	case reason == "Preempting" && condition == reasonKubelet:
		return Admission
	case rejected:
		return Admission
	case reason == "Evicted" || condition == reasonKubelet:
		return Pressure
	case strings.HasPrefix(reason, "OutOf"), reason == "UnexpectedAdmissionError":
		return Admission
	}
	return None
}

// isPressureRejection reports whether a message is the kubelet's for a pod that it rejects because of node pressure.
// Kubelets before 1.29 do not add the prefix.
func isPressureRejection(message string) bool {
	_, ok := nodepressure.RejectingConditions(strings.TrimPrefix(message, "Pod was rejected: "))
	return ok
}

// AvoidCause returns the cause of the Avoid Hold that follows from a displacement with the given
// message. A pod that was rejected because of node pressure can return when the pressure ends.
func (c Cause) AvoidCause(message string) Cause {
	if c == Admission && isPressureRejection(message) {
		return Pressure
	}
	return c
}
