package drainactor

import (
	"fmt"
	"net/http"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/berthproject/berth/drain"
	"github.com/berthproject/berth/engine/evacuation"
	"github.com/berthproject/berth/engine/scheduling"
	"github.com/berthproject/berth/sim/cluster"
	"github.com/berthproject/berth/sim/displacement"
	"github.com/berthproject/berth/sim/informer"
	"github.com/berthproject/berth/sim/store"
)

// Drainer drains nodes. Create it with New.
type Drainer struct {
	// PollDelay returns the delay before the next step, which is at most limit. The default returns
	// limit.
	PollDelay func(limit time.Duration) time.Duration
	// OnDone receives the result; may be nil.
	OnDone func(*drain.Result)

	w              *cluster.Cluster
	nodes          []string
	scheduler      drain.Scheduler
	converter      *informer.Converter
	watcher        *drain.Watcher
	machine        *evacuation.Drain
	idleSince      time.Time // since when nothing is in progress
	revision       uint64
	surgedReplicas map[string]int32 // replicas set by a surge, by kind and key
	requestPending bool             // a request is in flight
	done           bool
}

// pollInterval is the longest time between steps, responseInterval that after a response. The drain
// ends when nothing has been in progress for idleTimeout.
const (
	pollInterval     = 900 * time.Millisecond
	responseInterval = 300 * time.Millisecond
	idleTimeout      = time.Minute
)

// New cordons the nodes and schedules the first step.
func New(w *cluster.Cluster, nodes []string, o drain.Options, s drain.Scheduler) (*Drainer, error) {
	d := &Drainer{w: w, nodes: nodes, scheduler: s, converter: informer.NewConverter(), watcher: drain.NewWatcher(s), surgedReplicas: map[string]int32{},
		PollDelay: func(limit time.Duration) time.Duration { return limit }}
	for _, n := range nodes {
		if err := cordon(w, n); err != nil {
			return nil, err
		}
	}
	d.machine = d.watcher.Machine(nodes, o, evacuation.DrainTimeouts())
	d.schedule(time.Second)
	return d, nil
}

func cordon(w *cluster.Cluster, node string) error {
	return w.API().Update(store.Nodes, node, store.Precondition{}, func(o store.Object) error {
		if n, ok := o.(*corev1.Node); ok {
			n.Spec.Unschedulable = true
		}
		return nil
	})
}

// schedule schedules a step after delay.
func (d *Drainer) schedule(delay time.Duration) { d.w.After(delay, d.step) }

// step updates the view and executes the next action.
func (d *Drainer) step() {
	if d.requestPending || d.done {
		return
	}
	if revision := d.w.API().Revision(); revision != d.revision {
		d.revision = revision
		var events []scheduling.Event
		for _, k := range store.SchedulingKinds {
			for _, input := range d.converter.OnReplace(nil, k, d.w.API().List(k)) {
				events = append(events, input.Event)
			}
		}
		d.watcher.Apply(d.w.Now(), events)
	}
	actions, _ := d.machine.Step(d.w.Now())
	for i := range actions {
		switch a := &actions[i]; a.Kind {
		case evacuation.Evict:
			d.evict(a)
		case evacuation.SurgeUp:
			d.scale(a, 1)
		case evacuation.SurgeDown:
			d.scale(a, -1)
		}
	}
	if len(actions) > 0 {
		return
	}
	switch {
	case d.machine.Done():
		d.finish()
		return
	case !d.machine.Idle():
		d.idleSince = time.Time{}
	case d.idleSince.IsZero():
		d.idleSince = d.w.Now()
	case d.w.Now().Sub(d.idleSince) > idleTimeout:
		d.finish()
		return
	}
	d.schedule(d.PollDelay(pollInterval))
}

func (d *Drainer) evict(e *evacuation.Action) {
	p := e.Move.Pod
	d.requestPending = true
	d.annotateReplacement(e)
	d.w.Displacement.Evict(displacement.EvictionRequest{Pod: p.Key(), UID: p.UID, Requester: "drain"}, func(response displacement.EvictionResponse) {
		d.requestPending = false
		granted := response.Code == http.StatusCreated || response.Code == http.StatusNotFound
		if !granted {
			d.removeReplacementAnnotation(e)
		}
		d.machine.HandleResult(d.w.Now(), e.ID, evacuation.Result{Done: granted, Message: response.Message})
		d.schedule(d.PollDelay(responseInterval))
	})
}

func (d *Drainer) finish() {
	d.done = true
	r := d.watcher.Result(d.machine)
	d.w.Log("drain", "drained", "", fmt.Sprintf("berth drain ends: %d pods moved, %d pending, %d blocked", r.Count(drain.OutcomeMoved), r.Count(drain.OutcomePending), r.Count(drain.OutcomeBlocked)))
	if d.OnDone != nil {
		d.OnDone(r)
	}
}
