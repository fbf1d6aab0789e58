package workload

import (
	"fmt"
	"slices"
	"time"

	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/order"
)

// Plan plans a Job. pods can be in any order.
func (j *Job) Plan(now time.Time, pods []JobPod) JobPlan {
	p := &jobPlanner{job: j, now: now, pods: pods}
	p.plan.Status = j.Status
	p.plan.Status.UncountedSucceeded = slices.Clone(j.Status.UncountedSucceeded)
	p.plan.Status.UncountedFailed = slices.Clone(j.Status.UncountedFailed)
	p.countUntracked()
	if finished, _ := p.status().Finished(); finished || j.Deleting {
		p.releaseAll()
		return p.plan
	}
	p.updateSuspended()
	p.failing, p.succeeding = p.status().hasCondition(JobFailureTarget), p.status().hasCondition(JobSuccessCriteriaMet)
	p.classify()
	p.countEnded()
	p.decideEnd()
	switch {
	case p.failing || p.succeeding:
		for _, i := range p.active {
			p.plan.Delete = append(p.plan.Delete, JobDelete{Pod: i})
		}
	case j.Suspend:
		for _, i := range p.active {
			p.plan.Delete = append(p.plan.Delete, JobDelete{i, true})
		}
	default:
		p.managePods()
	}
	p.countStatus()
	p.finish()
	return p.plan
}

// jobPlanner makes one plan.
type jobPlanner struct {
	job  *Job
	now  time.Time
	pods []JobPod
	plan JobPlan

	failing, succeeding bool          // the result is decided and the pods are being deleted
	active, terminating []int         // active: pods that are pending or running
	succeeded, failed   int32         // counted or to be counted
	failJobMessage      string        // set if a rule of the pod failure policy fails the Job
	latest              map[int32]int // by index: the failed pod that is replaced next
}

func (p *jobPlanner) status() *JobStatus { return &p.plan.Status }

// countUntracked counts pods whose finalizer is removed.
func (p *jobPlanner) countUntracked() {
	s := p.status()
	tracked := make(map[string]bool, len(p.pods))
	for i := range p.pods {
		if p.pods[i].Tracked {
			tracked[p.pods[i].UID] = true
		}
	}
	count := func(list []string, n *int32) []string {
		return slices.DeleteFunc(list, func(uid string) bool {
			if tracked[uid] {
				return false
			}
			*n++
			return true
		})
	}
	s.UncountedSucceeded = count(s.UncountedSucceeded, &s.Succeeded)
	s.UncountedFailed = count(s.UncountedFailed, &s.Failed)
}

// releaseAll removes the finalizers of all pods of a finished or terminating Job.
func (p *jobPlanner) releaseAll() {
	for i := range p.pods {
		if p.pods[i].Tracked {
			p.plan.RemoveFinalizers = append(p.plan.RemoveFinalizers, i)
		}
	}
}

// updateSuspended sets the start time and the condition Suspended.
func (p *jobPlanner) updateSuspended() {
	s := p.status()
	if p.job.Suspend {
		if !s.hasCondition(JobSuspended) {
			s.Conditions = s.Conditions.With(p.now, Condition{Type: JobSuspended, Status: True, Reason: "JobSuspended", Message: "Job suspended"})
			p.addEvent(false, "Suspended", "Job suspended")
		}
		return
	}
	if s.hasCondition(JobSuspended) {
		s.Conditions = s.Conditions.With(p.now, Condition{Type: JobSuspended, Status: False, Reason: "JobResumed", Message: "Job resumed"})
		p.addEvent(false, "Resumed", "Job resumed")
		s.Start = p.now
	}
	if s.Start.IsZero() {
		s.Start = p.now
	}
}

func (p *jobPlanner) addEvent(warning bool, reason, message string) {
	p.plan.Events = append(p.plan.Events, JobEvent{warning, reason, message})
}

// classify finds the active and the terminating pods and the last failure of each index.
func (p *jobPlanner) classify() {
	p.latest = map[int32]int{}
	for i := range p.pods {
		pod := &p.pods[i]
		switch {
		case pod.Active():
			p.active = append(p.active, i)
		case pod.Terminating():
			p.terminating = append(p.terminating, i)
		}
		if p.isFailure(pod) && pod.Index >= 0 {
			if last, ok := p.latest[pod.Index]; !ok || failuresBefore(&p.pods[last]) < failuresBefore(pod) {
				p.latest[pod.Index] = i
			}
		}
	}
}

// failuresBefore returns how many pods of its index failed before the pod.
func failuresBefore(p *JobPod) int32 { return p.Failures + p.Ignored }

// isFailure reports whether a pod failed, or counts as failed because it is terminating.
func (p *jobPlanner) isFailure(pod *JobPod) bool {
	return pod.Phase == model.Failed || pod.Terminating() && !p.job.ReplaceOnlyFailed
}

// decideEnd decides whether the Job fails or succeeds, unless that is already decided.
func (p *jobPlanner) decideEnd() {
	if p.failing || p.succeeding {
		return
	}
	reason, message := p.failureReason()
	if reason != "" {
		p.failing = true
		p.setCondition(JobFailureTarget, reason, message)
		return
	}
	if n := p.job.matchSuccessPolicy(p.status().Completed); p.job.Indexed && n >= 0 {
		p.succeeding = true
		p.setCondition(JobSuccessCriteriaMet, "SuccessPolicy", fmt.Sprintf("Matched rules at index %d", n))
		return
	}
	reached := p.succeeded >= p.job.Completions
	if p.job.AnyCompletion {
		reached = p.succeeded > 0
	}
	if reached && len(p.active) == 0 && !p.job.Suspend {
		p.succeeding = true
		p.setCondition(JobSuccessCriteriaMet, "CompletionsReached", "Reached expected number of succeeded pods")
	}
}

// setCondition sets a condition to True.
func (p *jobPlanner) setCondition(kind, reason, message string) {
	s := p.status()
	s.Conditions = s.Conditions.With(p.now, Condition{Type: kind, Status: True, Reason: reason, Message: message})
}

// failureReason returns why the Job has failed, or "".
func (p *jobPlanner) failureReason() (reason, message string) {
	j, s := p.job, p.status()
	switch {
	case p.failJobMessage != "":
		return "PodFailurePolicy", p.failJobMessage
	case p.failed > j.BackoffLimit || p.restartsExceeded():
		return "BackoffLimitExceeded", "Job has reached the specified backoff limit"
	}
	if j.HasDeadline && !j.Suspend {
		end := s.Start.Add(j.Deadline)
		if !end.After(p.now) {
			return "DeadlineExceeded", "Job was active longer than specified deadline"
		}
		p.plan.Wake = order.Earliest(p.plan.Wake, end)
	}
	if n := s.FailedIndexes.Len(); j.BackoffPerIndex && n > 0 {
		if j.MaxFailedIndexes >= 0 && n > j.MaxFailedIndexes {
			return "MaxFailedIndexesExceeded", "Job has exceeded the specified maximal number of failed indexes"
		}
		if n+p.succeeded >= j.Completions {
			return "FailedIndexes", "Job has failed indexes"
		}
	}
	return "", ""
}

// restartsExceeded reports whether containers restarted too often.
func (p *jobPlanner) restartsExceeded() bool {
	var n int32
	if p.job.CountRestarts {
		for _, i := range p.active {
			n += p.pods[i].RestartSum
		}
	}
	return n > 0 && n >= p.job.BackoffLimit
}

// countStatus sets the status numbers of the current pods.
func (p *jobPlanner) countStatus() {
	s := p.status()
	deleted := make(map[int]bool, len(p.plan.Delete))
	for _, d := range p.plan.Delete {
		deleted[d.Pod] = true
	}
	s.Active, s.Ready = int32(len(p.active)-len(deleted)+len(p.plan.Create)), 0
	s.Terminating = int32(len(p.terminating) + len(deleted))
	for _, i := range p.active {
		if p.pods[i].Ready && !deleted[i] {
			s.Ready++
		}
	}
}

// finish completes or fails the Job once all its pods are finished and counted.
func (p *jobPlanner) finish() {
	s := p.status()
	if !p.failing && !p.succeeding || s.Active > 0 || s.Terminating > 0 || len(p.plan.RemoveFinalizers) > 0 ||
		len(s.UncountedSucceeded)+len(s.UncountedFailed) > 0 {
		return
	}
	if p.failing {
		c := s.Conditions.Get(JobFailureTarget)
		reason, message := c.Reason, c.Message
		p.setCondition(JobFailed, reason, message)
		p.addEvent(true, reason, message)
		return
	}
	c := s.Conditions.Get(JobSuccessCriteriaMet)
	p.setCondition(JobComplete, c.Reason, c.Message)
	s.Completion = p.now
	p.addEvent(false, "Completed", "Job completed")
}
