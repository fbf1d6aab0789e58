package podlife

import "time"

// RestartPolicy is a pod's.
type RestartPolicy uint8

// The policies.
const (
	Always RestartPolicy = iota
	OnFailure
	Never
)

// Container is a container as far as its life goes.
type Container struct {
	Name    string
	Sidecar bool // an init container with restartPolicy Always
	PreStop bool // has a preStop hook
}

// Spec is what a life reads of a pod.
type Spec struct {
	Init       []Container
	Containers []Container
	Restart    RestartPolicy
	Grace      time.Duration // for the sidecars of a pod that has finished; 30 s when zero
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
	Waiting State = iota
	Starting
	Up
	Ended
)

// Exit is how a container's run ended.
type Exit struct {
	Code            int32
	Started, Ended  time.Time
	DeadlineReached bool // killed at the end of the grace period
}

// Status is a container's state for those who report it.
type Status struct {
	Name     string
	State    State
	Started  time.Time // of the present run, while Up
	Exit     Exit      // of the present run, once Ended
	Last     *Exit     // of the run before, nil when there was none
	Restarts int32
	BackOff  bool // waiting for its restart delay
}
