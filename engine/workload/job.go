package workload

import "time"

// NoIndex is the Index of a pod that has none.
const NoIndex = -1

// Job is what is asked for: pods that end well, so many of them.
type Job struct {
	Namespace            string
	Parallelism          int32
	Completions          int32
	AnyCompletion        bool // completions is not given: one success ends it, once all pods have ended
	Indexed              bool // each number below Completions must end well once
	BackoffLimit         int32
	BackoffPerIndex      bool  // a failure counts against its index' limit, too:
	BackoffLimitPerIndex int32 // backoffLimitPerIndex
	MaxFailedIndexes     int32 // negative: no limit
	Policy               []FailureRule
	Success              []SuccessRule
	// ReplaceOnlyFailed: a pod is replaced when it has ended, not when its end begins (podReplacementPolicy: Failed).
	ReplaceOnlyFailed bool
	CountRestarts     bool // containers are restarted in place, which counts against BackoffLimit
	Deadline          time.Duration
	HasDeadline       bool // it may run as long as Deadline
	Suspend           bool
	Deleting          bool
	Status            JobStatus
}

// JobStatus is what there is.
type JobStatus struct {
	Start, Completion                             time.Time // zero: not yet
	Active, Ready, Terminating, Succeeded, Failed int32
	Completed, FailedIndexes                      Indexes
	// UncountedSucceeded and UncountedFailed are the uids of pods that ended, whose finalizer
	// goes next; then they are counted.
	UncountedSucceeded, UncountedFailed []string
	Conditions                          Conditions
}

// The types of a Job's conditions.
const (
	JobSuspended          = "Suspended"
	JobFailureTarget      = "FailureTarget"
	JobSuccessCriteriaMet = "SuccessCriteriaMet"
	JobComplete           = "Complete"
	JobFailed             = "Failed"
)

// Finished says that the Job is over, and when that was.
func (s *JobStatus) Finished() (over bool, at time.Time) {
	for _, kind := range []string{JobComplete, JobFailed} {
		if c := s.Conditions.Get(kind); c != nil && c.Status == True {
			return true, c.Changed
		}
	}
	return false, time.Time{}
}

func (s *JobStatus) hasCondition(kind string) bool {
	c := s.Conditions.Get(kind)
	return c != nil && c.Status == True
}

// JobPod is a pod of a Job.
type JobPod struct {
	Pod
	Tracked  bool  // it has the finalizer that keeps it until it is counted
	Index    int32 // NoIndex: none
	Failures int32 // of its index before it
	Ignored  int32 // failures of its index before it that do not count
	// RestartSum is how often its containers were restarted, all together.
	RestartSum int32
	Exits      []Exit
	Conditions []PodCondition
}

// Exit is a container that ended with a code other than 0.
type Exit struct {
	Container string
	Code      int32
}

// PodCondition is a condition of a pod.
type PodCondition struct{ Type, Status string }

// FailureAction is what a rule about failed pods has done.
type FailureAction uint8

// The actions.
const (
	CountFailure FailureAction = iota
	IgnoreFailure
	FailIndex
	FailJob
)

// FailureRule is a rule of a podFailurePolicy. It is about exit codes, or about conditions.
type FailureRule struct {
	Action     FailureAction
	OnExit     bool
	Container  string // "": any
	NotIn      bool   // the codes are those that do not match
	Codes      []int32
	Conditions []PodCondition // any of them
}

// SuccessRule is a rule of a successPolicy.
type SuccessRule struct {
	Indexes    Indexes
	HasIndexes bool
	Count      int32 // 0: all of Indexes
}

// JobCreate is a pod to make.
type JobCreate struct {
	Index             int32 // NoIndex: none
	Failures, Ignored int32 // to be written on it: those of its index before it
}

// JobDelete is a pod to delete.
type JobDelete struct {
	Pod int // index into the pods that were given
	// RemoveFinalizer: its finalizer goes first, so that it is no failure.
	RemoveFinalizer bool
}

// JobEvent is something to tell of a Job.
type JobEvent struct {
	Warning         bool
	Reason, Message string
}

// JobPlan is what to do now. Creates and deletes come first, then Status is written, and only when it is
// stored the finalizers of Untrack go: so each pod that ended is in the status or still there.
type JobPlan struct {
	Create           []JobCreate
	Delete           []JobDelete
	Status           JobStatus
	RemoveFinalizers []int
	Events           []JobEvent // once Status is written
	Wake             time.Time  // look again then; zero: never
}
