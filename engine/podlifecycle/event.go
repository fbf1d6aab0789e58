package podlifecycle

import "time"

// Event is an observation or a request about the pod.
type Event interface {
	apply(m *Machine, now time.Time)
}

// Started reports that a container runs and its postStart hook is done.
type Started struct {
	Container string
	At        time.Time // zero: now
}

// Waiting reports why a container cannot start yet: ErrImagePull, ImagePullBackOff,
// CreateContainerConfigError and so on. The caller keeps trying.
type Waiting struct {
	Container       string
	Reason, Message string
}

// Exited reports that a container has terminated, or that a container was stopped while it was starting and will never
// run.
type Exited struct {
	Container  string
	Code       int32
	Reason     string // OOMKilled, StartError, ...; empty: Completed or Error, by the code
	Message    string
	Signal     int32
	StartedAt  time.Time // zero: the time of Started
	FinishedAt time.Time // zero: now
}

// PreStopDone reports that a container's preStop hook has ended, successfully or not.
type PreStopDone struct{ Container string }

// ProbeResult reports the result of a probe with its thresholds applied. A startup probe passed or
// failed permanently, a liveness probe failed, or readiness changed.
type ProbeResult struct {
	Container string
	Probe     Probes // a single probe
	Attempt   int32  // of the StartProbe; results of an earlier run are ignored
	OK        bool
}

// RestartContainer restarts a container whose specification changed, regardless of its restart
// policy. A container that waits for its restart delay restarts at once, unless only its resources
// changed.
type RestartContainer struct {
	Container string
	Resize    bool // only its resources changed
}

// AddEphemeral adds an ephemeral container, which starts at once and never restarts. It has no effect
// on the phase and the readiness of the pod.
type AddEphemeral struct{ Container Container }

// SetDeadline changes the pod's activeDeadlineSeconds, counted from its start; zero: no limit.
type SetDeadline struct{ Deadline time.Duration }

// SandboxLost reports that the pod's sandbox no longer exists. The exits of running containers are
// reported separately; restarts begin with the first init container.
type SandboxLost struct{}

// Delete terminates the pod within Grace. A second Delete can only shorten it.
type Delete struct{ Grace time.Duration }

// Fail terminates the pod within Grace. Once no container runs, the pod is Failed with this reason and message. The
// first failure counts; later ones can only shorten the grace period.
type Fail struct {
	Reason, Message string
	Grace           time.Duration
	// KillNow kills all containers without hooks or a stop request.
	KillNow bool
}

// Effect is an action on the pod.
type Effect interface{ effect() }

// Start starts a container. Attempt counts the container's starts from 0. A restarted caller uses it to identify a
// running container.
type Start struct {
	Container string
	Attempt   int32
}

// RunPreStop runs a container's preStop hook. The hook must end by Until.
type RunPreStop struct {
	Container string
	Until     time.Time
}

// Stop requests that a container stop by Until. A container that is starting must not start.
type Stop struct {
	Container string
	Until     time.Time
}

// Kill kills a container.
type Kill struct{ Container string }

// StartProbe starts probing a running container; ProbeResult reports the results.
type StartProbe struct {
	Container string
	Probe     Probes // a single probe
	Attempt   int32  // of the container's Start
}

// StopProbe stops a probe.
type StopProbe struct {
	Container string
	Probe     Probes // a single probe
}

// PodStopped reports that no container of the pod runs or will run; it is emitted once. The pod's
// network, volumes and cgroup can be released.
type PodStopped struct{}

// PodRemoved reports that no resources of the pod remain; it is emitted once, after Delete and
// PodStopped.
type PodRemoved struct{}

func (Start) effect()      {}
func (RunPreStop) effect() {}
func (Stop) effect()       {}
func (Kill) effect()       {}
func (StartProbe) effect() {}
func (StopProbe) effect()  {}
func (PodStopped) effect() {}
func (PodRemoved) effect() {}
