package drainer

import (
	"fmt"
	"net/http"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/berthproject/berth/drain"
	"github.com/berthproject/berth/engine/scheduling"
	"github.com/berthproject/berth/sim"
	"github.com/berthproject/berth/sim/store"
)

// Drainer drains nodes. Make it with New.
type Drainer struct {
	// Pause is how long it waits before it looks again, at most the time given; it may be set anew. By default all of it.
	Pause func(most time.Duration) time.Duration
	// Ended is given the result; may be nil.
	Ended func(*drain.Result)

	w         *sim.World
	nodes     []string
	scheduler drain.Scheduler
	seen      *sim.View
	watcher   *drain.Watcher
	machine   *drain.Machine
	quiet     time.Time // since when nothing is under way
	revision  uint64
	raised    map[string]int32 // what a surge made of a workload's replicas, by kind and key
	asking    bool             // a request is under way
	over      bool
}

// glance is the longest time between two looks, and idle how long nothing may be under way before the drain is given up.
const (
	glance = 900 * time.Millisecond
	answer = 300 * time.Millisecond
	idle   = time.Minute
)

// New cordons the nodes and begins to look.
func New(w *sim.World, nodes []string, o drain.Options, s drain.Scheduler) (*Drainer, error) {
	d := &Drainer{w: w, nodes: nodes, scheduler: s, seen: sim.NewView(), watcher: drain.NewWatcher(s), raised: map[string]int32{},
		Pause: func(most time.Duration) time.Duration { return most }}
	for _, n := range nodes {
		if err := w.API().Change(store.Nodes, n, store.Precondition{}, func(o store.Object) error {
			if n, ok := o.(*corev1.Node); ok {
				n.Spec.Unschedulable = true
			}
			return nil
		}); err != nil {
			return nil, err
		}
	}
	d.machine = d.watcher.Machine(nodes, o, drain.DefaultPatience())
	d.later(time.Second)
	return d, nil
}

// later looks again after a while.
func (d *Drainer) later(t time.Duration) { d.w.At(d.w.Elapsed()+t, d.look) }

// look takes in how the cluster is and does what is next.
func (d *Drainer) look() {
	if d.asking || d.over {
		return
	}
	if is := d.w.API().Revision(); is != d.revision {
		d.revision = is
		var events []scheduling.Event
		for _, k := range store.Kinds {
			for _, in := range d.seen.Replace(nil, k, d.w.API().List(k)) {
				events = append(events, in.Event)
			}
		}
		d.watcher.Take(d.w.Now(), events)
	}
	action, _ := d.machine.Step(d.w.Now(), d.watcher.View)
	switch a := action.(type) {
	case drain.Evict:
		d.evict(a)
		return
	case drain.SurgeUp:
		d.scale(a.Pod, 1)
		return
	case drain.SurgeDown:
		d.scale(a.Pod, -1)
		return
	}
	switch {
	case d.machine.Done():
		d.end()
		return
	case !d.machine.Idle():
		d.quiet = time.Time{}
	case d.quiet.IsZero():
		d.quiet = d.w.Now()
	case d.w.Now().Sub(d.quiet) > idle:
		d.end()
		return
	}
	d.later(d.Pause(glance))
}

func (d *Drainer) evict(e drain.Evict) {
	d.asking = true
	d.markStandIn(e)
	d.w.Evict(sim.Eviction{Pod: e.Pod.Key(), UID: e.Pod.UID, By: "drain"}, func(a sim.Answer) {
		d.asking = false
		ok := a.Code == http.StatusCreated || a.Code == http.StatusNotFound
		if !ok {
			d.unmark(e)
		}
		d.machine.Answer(d.w.Now(), e.Pod.UID, drain.Answer{Granted: ok, Words: a.Text})
		d.later(d.Pause(answer))
	})
}

func (d *Drainer) end() {
	d.over = true
	r := d.machine.Result(d.watcher.View)
	r.Explain(d.watcher.View, &d.scheduler)
	d.w.Say("drain", "drained", "", fmt.Sprintf("berth drain ends: %d pods moved, %d wait, %d are held", r.Count(drain.Moves), r.Count(drain.Pends), r.Count(drain.Held)))
	if d.Ended != nil {
		d.Ended(r)
	}
}
