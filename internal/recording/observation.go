package recording

import (
	"bytes"
	"fmt"
	"time"

	"github.com/berthproject/berth/engine/descheduling"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/nodelifecycle"
)

// Observations are objects that are no input of the machine. They complete the state at a time: what the
// descheduler and the node lifecycle controller read, and what nodes measured. A replay ignores them.
type (
	// PodDetails are the parts of a pod that only descheduling reads.
	PodDetails struct {
		UID     string
		Details descheduling.PodDetails
	}
	// NodeStatus are the conditions and taints of a node with their times, without heartbeats.
	NodeStatus struct{ nodelifecycle.Node }
	// NodePressure is a node's report of its eviction thresholds, as `berth explain node NAME --pressure -o json`
	// prints it.
	NodePressure struct{ Node, Report string }
	// HoldSupport reports whether the scheduler honors Holds.
	HoldSupport struct{ Honored bool }
)

// Observe adds an observation: a pointer to one of the types above, which must not be modified afterwards. It is
// not written if it equals the previous observation of the same object, or if Start was not called. Observe never waits
// for the disk, and does nothing on nil. It may be called concurrently with the other methods.
func (r *Recorder) Observe(now time.Time, observation any) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.started {
		return
	}
	r.makeRoom()
	r.pending.steps = append(r.pending.steps, stepHeader{now: now, observed: true, numEvents: 1})
	r.pending.events = append(r.pending.events, observation)
	r.flushIfFull()
}

func observationKey(o any) objectKey {
	switch o := o.(type) {
	case *PodDetails:
		return key[PodDetails]("", o.UID)
	case *NodeStatus:
		return key[NodeStatus]("", o.UID)
	case *NodePressure:
		return key[NodePressure]("", o.Node)
	case *HoldSupport:
		return key[HoldSupport]("", "")
	}
	panic(fmt.Sprintf("recording: unsupported observation %T", o))
}

// maxReports is the maximum size in bytes of the reports of all nodes. Reports beyond it, and those of nodes that do not
// exist, are not recorded.
const maxReports = 16 << 20

// observe stores an observation, encoded because there are many, and reports whether it differs from the previous one.
func (s *State) observe(o any) (data []byte, changed bool) {
	e := &encoder{}
	e.object(o)
	k := observationKey(o)
	if bytes.Equal(s.observed[k], e.buf) {
		return nil, false
	}
	if p, ok := o.(*NodePressure); ok {
		size := s.reports + len(e.buf) - len(s.observed[k])
		if s.objects[key[model.Node]("", p.Node)] == nil || size > maxReports {
			return nil, false
		}
		s.reports = size
	}
	s.observed[k] = bytes.Clone(e.buf)
	return e.buf, true
}

// forgetObservations deletes the observations of a deleted object.
func (s *State) forgetObservations(object any) {
	switch o := object.(type) {
	case *model.Pod:
		delete(s.observed, key[PodDetails]("", o.UID))
	case *model.Node: // a new node of this name may already have a status
		delete(s.observed, key[NodeStatus]("", o.UID))
		k := key[NodePressure]("", o.Name)
		s.reports -= len(s.observed[k])
		delete(s.observed, k)
	}
}

// observation returns the last observation of an object, or nil. It panics with errMalformed if the stored data is
// malformed.
func observation[T any](s *State, name string) *T {
	data := s.observed[key[T]("", name)]
	if data == nil {
		return nil
	}
	d := &decoder{buf: data}
	return d.object(d.byte()).(*T)
}

// Details returns the details of a pod, or nil.
func (s *State) Details(uid string) *descheduling.PodDetails {
	if d := observation[PodDetails](s, uid); d != nil {
		return &d.Details
	}
	return nil
}

// NodeStatus returns the status of the node with a UID, or nil.
func (s *State) NodeStatus(uid string) *nodelifecycle.Node {
	if n := observation[NodeStatus](s, uid); n != nil {
		return &n.Node
	}
	return nil
}

// NodePressure returns the last report of a node, or an empty string.
func (s *State) NodePressure(node string) string {
	if p := observation[NodePressure](s, node); p != nil {
		return p.Report
	}
	return ""
}

// HoldsHonored reports whether the scheduler honored Holds. ok is false if that is not recorded.
func (s *State) HoldsHonored() (honored, ok bool) {
	h := observation[HoldSupport](s, "")
	return h != nil && h.Honored, h != nil
}
