package podlifecycle

import "time"

// RestartPolicy is a pod's, or a container's own.
type RestartPolicy uint8

// The policies.
const (
	Always RestartPolicy = iota
	OnFailure
	Never
)

// Probes are kinds of probes, as a set.
type Probes uint8

// The kinds of probes.
const (
	Startup Probes = 1 << iota
	Readiness
	Liveness
)

// String is the kind as the kubelet writes it, such as "Liveness".
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

// Container is a container as far as its life goes.
type Container struct {
	Name    string
	Sidecar bool // an init container with restartPolicy Always
	PreStop bool // has a preStop hook
	Probes  Probes
	// RestartPolicy is its own policy; nil: the pod's.
	RestartPolicy *RestartPolicy
	RestartRules  []RestartRule
	// StartupGrace and LivenessGrace are what it is given when that probe fails; zero: the pod's grace.
	StartupGrace, LivenessGrace time.Duration
}

// RestartRule has a container restart after certain exit codes whatever its policy.
// Init containers and containers may have them.
type RestartRule struct {
	Codes []int32
	NotIn bool // after all codes but these
}

// Spec is what a life reads of a pod.
type Spec struct {
	Init          []Container
	Containers    []Container
	RestartPolicy RestartPolicy
	Grace         time.Duration // terminationGracePeriodSeconds; 30 s when zero
	// Deadline is how long the pod may be active (activeDeadlineSeconds); zero: for ever.
	Deadline time.Duration
	// StartTime is when the pod was taken up (status.startTime); zero: at its first step.
	StartTime time.Time
	// MaxBackoff is the longest delay of a restart; 5 min when zero.
	MaxBackoff time.Duration
}

// WithoutProbes is the specification without probes, for those who run none: containers
// are ready when they run.
func (s Spec) WithoutProbes() Spec {
	for _, cs := range []*[]Container{&s.Init, &s.Containers} {
		out := make([]Container, len(*cs))
		for i, c := range *cs {
			c.Probes = 0
			out[i] = c
		}
		*cs = out
	}
	return s
}

// Phase is where the pod is in its life.
type Phase uint8

// The phases.
const (
	Pending Phase = iota
	Running
	Succeeded
	Failed
)

// State is what a container does now.
type State uint8

// The states of a container.
const (
	ContainerNotStarted State = iota // not to start yet
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
	Replaced              bool // ended so that it runs anew: a probe failed, or its specification changed
}

// Status is a container's state for those who report it.
type Status struct {
	Name          string
	State         State
	Reason        string    // why it does not start, while Starting; empty: nobody said
	Message       string    // the same in words
	StartedAt     time.Time // of the present run, while Up
	StartupPassed bool      // it runs, and has passed its startup probe if it has one
	Ready         bool      // it runs, and is ready as its readiness probe says if it has one
	Exit          Exit      // of the present run, once Ended
	Last          *Exit     // of the run before, nil when there was none
	Restarts      int32
	BackOff       bool          // waiting for its restart delay
	BackOffDelay  time.Duration // of that, while BackOff
}

// GracePeriod is what containers are given to stop unless somebody says otherwise.
func (s *Spec) GracePeriod() time.Duration {
	if s.Grace == 0 {
		return defaultGrace
	}
	return s.Grace
}
