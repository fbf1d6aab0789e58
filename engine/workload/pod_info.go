package workload

import (
	"time"

	"github.com/berthproject/berth/engine/model"
)

// Pod holds the properties of a pod that the plans of its workload depend on.
type Pod struct {
	Name, UID string
	Labels    model.Labels
	Created   time.Time
	Node      string // empty: not bound
	Phase     model.Phase
	Deleting  bool // deletionTimestamp is set

	Ready      bool      // condition Ready is True
	ReadySince time.Time // transition time of Ready; zero: unknown

	Started time.Time // status.startTime; zero: unknown
	// Ended is when the pod succeeded or failed according to its status; zero: the pod is not finished.
	Ended  time.Time
	Reason string // status.reason: Evicted, OutOfcpu, ...
	// Disrupted is the reason of a DisruptionTarget condition that is True.
	Disrupted string

	// Restarts is the largest restart count of its containers, SidecarRestarts that of restartable
	// init containers.
	Restarts, SidecarRestarts int32
	// Cost is controller.kubernetes.io/pod-deletion-cost; 0 without it.
	Cost int32
	// ExpectedReplacement is the name of the pod that was created to replace this pod before its deletion,
	// or empty. It is valid while the owner's generation is ReplacementGeneration, because the request
	// for the extra pod may be reverted; 0: no longer valid.
	ExpectedReplacement   string
	ReplacementGeneration int64
}

// Active reports whether the pod counts as a replica: it is neither finished nor terminating.
func (p *Pod) Active() bool { return !p.Finished() && !p.Deleting }

// Finished reports whether the pod succeeded or failed.
func (p *Pod) Finished() bool { return p.Phase == model.Succeeded || p.Phase == model.Failed }

// Terminating reports whether the pod is terminating and not finished.
func (p *Pod) Terminating() bool { return p.Deleting && !p.Finished() }

// Available reports whether the pod has been ready for minReady. If it is ready, but not for long
// enough, at is when it becomes available; else at is zero.
func (p *Pod) Available(now time.Time, minReady time.Duration) (ok bool, at time.Time) {
	if !p.Ready {
		return false, time.Time{}
	}
	if minReady <= 0 {
		return true, time.Time{}
	}
	if p.ReadySince.IsZero() {
		return false, time.Time{} // ready for an unknown time
	}
	if at = p.ReadySince.Add(minReady); at.After(now) {
		return false, at
	}
	return true, time.Time{}
}
