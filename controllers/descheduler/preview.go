package descheduler

import (
	"errors"
	"time"

	"github.com/berthproject/berth/engine/descheduling"
	"github.com/berthproject/berth/engine/model"
)

// RecordedCluster is the state of a cluster at an earlier time.
type RecordedCluster struct {
	Now     time.Time
	Objects []any // pointers to values of engine/model, pods last
	// Details returns the details of a pod by UID. Pods with nil are not considered.
	Details func(uid string) *descheduling.PodDetails
	// NotReady reports whether a node has a Ready condition that is not True.
	NotReady func(node *model.Node) bool
	Holds    HoldSupport
}

// Preview returns the plan of a run for an earlier time. It has no moves in progress and no measured usage, and
// returns an error if the policy uses the latter. Of the options, it reads Policy, Profiles and Seed.
func Preview(o Options, c RecordedCluster) (*Report, error) {
	if o.Policy.UsesMetrics() {
		return nil, errors.New("descheduler: a strategy of the policy uses metrics, which are not recorded")
	}
	o.Mode, o.DryRun = Planned, true
	r := newRunner(o)
	for _, object := range c.Objects {
		r.state.upsert(object)
		switch m := object.(type) {
		case *model.Pod:
			r.state.podDetails[m.UID] = c.Details(m.UID)
		case *model.Node:
			r.state.notReady[m.UID] = c.NotReady(m)
		}
	}
	report := r.newReport(c.Now)
	r.runPlanned(r.state.snapshot(c.Now), r.timedPolicy(), report, c.Holds)
	return report, nil
}
