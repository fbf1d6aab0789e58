package workload

import (
	"time"

	"github.com/berthproject/berth/engine/model"
)

// Pod is what workloads read of one of their pods.
type Pod struct {
	Name, UID string
	Labels    model.Labels
	Created   time.Time
	Node      string // where it is bound; empty while it waits
	Phase     model.Phase
	Deleting  bool // deletionTimestamp is set

	Ready      bool      // condition Ready is True
	ReadySince time.Time // when Ready became what it is; zero when unknown

	Started time.Time // status.startTime; zero when unknown
	// Ended is when it succeeded or failed, as well as its status tells; zero while it has not.
	Ended  time.Time
	Reason string // status.reason: Evicted, OutOfcpu, ...
	// Disrupted is the reason of a DisruptionTarget condition that is True.
	Disrupted string

	// Restarts is that of the container that was restarted most, SidecarRestarts
	// the same of restartable init containers.
	Restarts, SidecarRestarts int32
	// Cost is what controller.kubernetes.io/pod-deletion-cost says; 0 without.
	Cost int32
	// ExpectedReplacement is the name of the pod that was made for it before it goes; empty: none was. That holds while its owner
	// has the generation StandInUntil, as what asked for the one more may be taken back; 0: no longer.
	ExpectedReplacement   string
	ReplacementGeneration int64
}

// Active says that the pod counts as a replica: it neither ended nor is about to go.
func (p *Pod) Active() bool { return !p.Finished() && !p.Deleting }

// Finished says that the pod has run to its end.
func (p *Pod) Finished() bool { return p.Phase == model.Succeeded || p.Phase == model.Failed }

// Terminating says that the pod is being stopped and has not ended yet.
func (p *Pod) Terminating() bool { return p.Deleting && !p.Finished() }

// Available says that the pod has been ready for as long as minReady asks. One that is
// ready, but not for long enough, becomes so at the time that is told; else that is zero.
func (p *Pod) Available(now time.Time, minReady time.Duration) (ok bool, at time.Time) {
	if !p.Ready {
		return false, time.Time{}
	}
	if minReady <= 0 {
		return true, time.Time{}
	}
	if p.ReadySince.IsZero() {
		return false, time.Time{} // nobody knows since when
	}
	if at = p.ReadySince.Add(minReady); at.After(now) {
		return false, at
	}
	return true, time.Time{}
}
