package podlifecycle

import "time"

// Event is something that happened to the pod.
type Event interface {
	apply(l *Machine, now time.Time)
}

// Started says that a container runs, its postStart hook included.
type Started struct {
	Container string
	At        time.Time // since when; zero: now
}

// Waiting says why a container that is to start does not yet: ErrImagePull,
// ImagePullBackOff, CreateContainerConfigError and so on. Who runs it goes on trying.
type Waiting struct {
	Container       string
	Reason, Message string
}

// Exited says that a container has ended, by itself or because it was stopped,
// or that one which was stopped while it was starting never will run.
type Exited struct {
	Container  string
	Code       int32
	Reason     string // OOMKilled, StartError, ...; empty: Completed or Error, by the code
	Message    string
	Signal     int32
	StartedAt  time.Time // since when it ran; zero: as Started said
	FinishedAt time.Time // when; zero: now
}

// PreStopDone says that a container's preStop hook has ended, well or not.
type PreStopDone struct{ Container string }

// ProbeResult says what a probe has come to, its thresholds counted: of a startup probe that it has
// passed or failed for good, of a liveness probe that it has failed, of a readiness probe
// whether the container is ready.
type ProbeResult struct {
	Container string
	Probe     Probes // one
	Attempt   int32  // as of the effect Probe: what is told of an earlier run counts for nothing
	OK        bool
}

// RestartContainer ends a container whose specification has changed and runs it anew, whatever its policy.
type RestartContainer struct{ Container string }

// SetDeadline changes how long the pod may be active, counted from when it was taken up; zero: for ever.
type SetDeadline struct{ Deadline time.Duration }

// SandboxLost says that the pod's sandbox is gone: what still runs of it is told of as it ends, and
// what may run again does so from the first init container on.
type SandboxLost struct{}

// Delete asks the pod to end within Grace. A second Delete can only shorten it.
type Delete struct{ Grace time.Duration }

// Fail ends the pod within Grace; when nothing of it runs any more it is Failed with
// this reason and message. The first failure counts; later ones can only shorten the grace.
type Fail struct {
	Reason, Message string
	Grace           time.Duration
	// KillNow kills at once: no hook runs and nobody is asked.
	KillNow bool
}

// Effect is something to do for the pod.
type Effect interface{ effect() }

// Start starts a container. Attempt counts its starts from 0: who finds that one
// running (or ended) after a restart takes it for this one.
type Start struct {
	Container string
	Attempt   int32
}

// RunPreStop runs a container's preStop hook, which may take until Until at most.
type RunPreStop struct {
	Container string
	Until     time.Time
}

// Stop asks a container to end by itself until Until. One that is starting starts no more.
type Stop struct {
	Container string
	Until     time.Time
}

// Kill ends a container at once.
type Kill struct{ Container string }

// StartProbe begins to probe a container that runs; what comes of it is told by Probed.
type StartProbe struct {
	Container string
	Probe     Probes // one
	Attempt   int32  // which start of the container it is
}

// StopProbe ends a probe that was begun.
type StopProbe struct {
	Container string
	Probe     Probes // one
}

// PodStopped says that nothing of the pod runs nor will; it comes once. What the pod
// held (network, volumes, cgroup) can be let go.
type PodStopped struct{}

// PodRemoved says that nothing of the pod is left; it comes once, only after Delete, and after Over.
type PodRemoved struct{}

func (Start) effect()      {}
func (RunPreStop) effect() {}
func (Stop) effect()       {}
func (Kill) effect()       {}
func (StartProbe) effect() {}
func (StopProbe) effect()  {}
func (PodStopped) effect() {}
func (PodRemoved) effect() {}
