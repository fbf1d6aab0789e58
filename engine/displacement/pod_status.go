package displacement

import "strings"

// CauseFromStatus returns the cause that a pod's status shows: the reason of its DisruptionTarget condition
// (empty if that is not True), and the pod's own reason and message. None means that the pod was not
// displaced.
//
// The kubelet uses one condition reason for every cause. The pod's own reason distinguishes them: Evicted for
// pressure, Terminated or NodeShutdown for a shutdown, Preempting for a critical pod admitted in its place.
// A rejected pod has no condition.
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
