package podlifecycle

import "time"

// RestartPolicy is the restart policy of a pod or a container.
type RestartPolicy uint8

// The restart policies.
const (
	Always RestartPolicy = iota
	OnFailure
	Never
)

// Probes is a set of kinds of probes.
type Probes uint8

// The kinds of probes.
const (
	Startup Probes = 1 << iota
	Readiness
	Liveness
)

// String returns the kind as the kubelet writes it, such as "Liveness".
func (p Probes) String() string {
	switch p {
	case Startup:
		return "Startup"
	case Readiness:
		return "Readiness"
	case Liveness:
		return "Liveness"
	}
	return "several probes"
}

// Container holds the properties of a container that the machine depends on.
type Container struct {
	Name    string
	Sidecar bool // an init container with restartPolicy Always
	PreStop bool // has a preStop hook
	Probes  Probes
	// RestartPolicy is the container's own; nil: the pod's.
	RestartPolicy *RestartPolicy
	RestartRules  []RestartRule
	// StartupGrace and LivenessGrace are the grace periods after that probe failed; zero: the pod's.
	StartupGrace, LivenessGrace time.Duration
}

// RestartRule restarts a container after certain exit codes regardless of its policy. Init
// containers and containers can have rules.
type RestartRule struct {
	Codes []int32
	NotIn bool // match all other codes
}

// Spec holds the properties of a pod that the machine depends on.
type Spec struct {
	Init          []Container
	Containers    []Container
	Ephemeral     []Container // AddEphemeral adds more
	RestartPolicy RestartPolicy
	Grace         time.Duration // terminationGracePeriodSeconds; zero: 30 s
	// Deadline is activeDeadlineSeconds; zero: no limit.
	Deadline time.Duration
	// StartTime is status.startTime; zero: the first step.
	StartTime time.Time
	// MaxBackoff is the longest restart delay; zero: 5 min.
	MaxBackoff time.Duration
}

// Phase is the pod's phase.
type Phase uint8

// The phases.
const (
	Pending Phase = iota
	Running
	Succeeded
	Failed
)

// State is the state of a container.
type State uint8

// The states of a container.
const (
	ContainerNotStarted State = iota // an earlier container blocks it
	ContainerStarting
	ContainerRunning
	ContainerTerminated
)

// Exit is how a container's run ended.
type Exit struct {
	Code                  int32
	Signal                int32
	Reason, Message       string // Reason is empty for Completed or Error, by the code
	StartedAt, FinishedAt time.Time
	DeadlineReached       bool // killed at the end of the grace period
	Replaced              bool // stopped to restart: a probe failed or its specification changed
}

// Status is the state of a container.
type Status struct {
	Name          string
	State         State
	Reason        string    // why the container does not start, while ContainerStarting
	Message       string    // of the reason
	StartedAt     time.Time // of the current run, while ContainerRunning
	StartupPassed bool      // runs and has passed its startup probe, if any
	Ready         bool      // runs and its readiness probe, if any, passes; never of a plain init container
	Exit          Exit      // of the current run, once ContainerTerminated
	Last          *Exit     // of the previous run, or nil
	Restarts      int32
	BackOff       bool          // waits for its restart delay
	BackOffDelay  time.Duration // while BackOff
}

// GracePeriod returns the pod's grace period.
func (s *Spec) GracePeriod() time.Duration {
	if s.Grace == 0 {
		return defaultGrace
	}
	return s.Grace
}
