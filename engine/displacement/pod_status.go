package displacement

import "strings"

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
	rejected := strings.HasPrefix(message, "Pod was rejected") || condition == "" && strings.HasPrefix(message, pressureRejection)
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

// pressureRejection starts the kubelet's message for a pod that it rejects because of node pressure.
const pressureRejection = "The node had condition: ["

// AvoidCause returns the cause of the Avoid Hold that follows from a displacement with the given
// message. A pod that was rejected because of node pressure can return when the pressure ends.
func (c Cause) AvoidCause(message string) Cause {
	if c == Admission && strings.Contains(message, pressureRejection) {
		return Pressure
	}
	return c
}
