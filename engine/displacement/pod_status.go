package displacement

import "strings"

// CauseFromStatus is the cause that a pod's status tells: the reason of its DisruptionTarget condition, empty when that
// is not True, and the pod's own reason and message. None: it was not displaced.
//
// A node's agent gives one reason of the condition whatever the cause; the pod's own reason says
// which: Evicted for pressure, Terminated or NodeShutdown for a shutdown, Preempting for a
// critical pod that was admitted in its place. A pod that was not admitted has no condition.
func CauseFromStatus(condition, reason, message string) Cause {
	for _, c := range Causes() {
		if c.Reason() == condition && !c.ByNode() {
			return c
		}
	}
	switch {
	case reason == "Terminated" && condition == reasonKubelet, reason == "NodeShutdown":
		return Shutdown
	case reason == "Preempting" && condition == reasonKubelet:
		return Admission
	case reason == "Evicted" || condition == reasonKubelet:
		return Pressure
	case strings.HasPrefix(message, "Pod was rejected"), strings.HasPrefix(reason, "OutOf"), reason == "UnexpectedAdmissionError":
		return Admission
	}
	return None
}
