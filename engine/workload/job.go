package workload

import "time"

// NoIndex is the Index of a pod without one.
const NoIndex = -1

// Job is the desired and actual state of a Job.
type Job struct {
	Namespace   string
	Parallelism int32
	Completions int32
	// AnyCompletion is set if completions is not set. The Job completes once one pod has succeeded and all have
	// finished.
	AnyCompletion        bool
	Indexed              bool // each index below Completions must succeed once
	BackoffLimit         int32
	BackoffPerIndex      bool // BackoffLimitPerIndex is set: failures count per index
	BackoffLimitPerIndex int32
	MaxFailedIndexes     int32 // negative: no limit
	Policy               []FailureRule
	Success              []SuccessRule
	// ReplaceOnlyFailed replaces a pod once it is Failed, not when it is terminating (podReplacementPolicy: Failed).
	ReplaceOnlyFailed bool
	CountRestarts     bool          // container restarts count against BackoffLimit
	Deadline          time.Duration // activeDeadlineSeconds, if HasDeadline
	HasDeadline       bool
	Suspend           bool
	Deleting          bool
	Status            JobStatus
}

// JobStatus is the status of a Job.
type JobStatus struct {
	Start, Completion                             time.Time // zero: not yet
	Active, Ready, Terminating, Succeeded, Failed int32
	Completed, FailedIndexes                      Indexes
	// UncountedSucceeded and UncountedFailed are the UIDs of finished pods whose finalizer is removed
	// next; then they are counted.
	UncountedSucceeded, UncountedFailed []string
	Conditions                          Conditions
}

// Condition types of a Job.
const (
	JobSuspended          = "Suspended"
	JobFailureTarget      = "FailureTarget"
	JobSuccessCriteriaMet = "SuccessCriteriaMet"
	JobComplete           = "Complete"
	JobFailed             = "Failed"
)

// Finished reports whether the Job is finished, and since when.
func (s *JobStatus) Finished() (finished bool, at time.Time) {
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
	Tracked  bool  // the pod has the finalizer that keeps it until it is counted
	Index    int32 // completion index, or NoIndex
	Failures int32 // earlier failures of its index
	Ignored  int32 // earlier failures of its index that do not count
	// RestartSum is the number of restarts of all its containers.
	RestartSum int32
	Exits      []Exit
	Conditions []PodCondition
}

// Exit is a container that exited with a non-zero code.
type Exit struct {
	Container string
	Code      int32
}

// PodCondition is the type and status of a pod's condition.
type PodCondition struct{ Type, Status string }

// FailureAction is the action of a podFailurePolicy rule.
type FailureAction uint8

// The actions.
const (
	CountFailure  FailureAction = iota // the failure counts against the backoff limit
	IgnoreFailure                      // the failure does not count
	FailIndex                          // the pod's index fails
	FailJob                            // the Job fails
)

// FailureRule is a rule of a podFailurePolicy, on exit codes or on conditions.
type FailureRule struct {
	Action     FailureAction
	OnExit     bool
	Container  string // "": any
	NotIn      bool   // matches all codes but these
	Codes      []int32
	Conditions []PodCondition // any of them
}

// SuccessRule is a rule of a successPolicy.
type SuccessRule struct {
	Indexes    Indexes
	HasIndexes bool
	Count      int32 // 0: all of Indexes
}

// JobCreate is a pod to create.
type JobCreate struct {
	Index             int32 // completion index, or NoIndex
	Failures, Ignored int32 // earlier failures of its index, for its annotations
}

// JobDelete is a pod to delete.
type JobDelete struct {
	Pod int // index into the given pods
	// RemoveFinalizer is set if the finalizer must be removed before the deletion. The pod then does not count as
	// failed.
	RemoveFinalizer bool
}

// JobEvent is an event about a Job.
type JobEvent struct {
	Warning         bool
	Reason, Message string
}

// JobPlan holds the changes to make now. Create and delete pods first, then write Status, and only then remove
// the finalizers of RemoveFinalizers. Thus each finished pod is in the status or still exists.
type JobPlan struct {
	Create           []JobCreate
	Delete           []JobDelete
	Status           JobStatus
	RemoveFinalizers []int      // indexes into the given pods
	Events           []JobEvent // to record once Status is written
	Wake             time.Time  // when to plan again; zero: never
}
