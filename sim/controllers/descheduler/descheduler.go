package descheduler

import (
	"time"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/berthproject/berth/engine/descheduling"
	"github.com/berthproject/berth/engine/descheduling/planning"
	"github.com/berthproject/berth/engine/evacuation"
	"github.com/berthproject/berth/engine/order"
	"github.com/berthproject/berth/engine/placement/framework"
	"github.com/berthproject/berth/sim"
	"github.com/berthproject/berth/sim/displacement"
	"github.com/berthproject/berth/sim/store"
)

// Scheduler is the configuration of the scheduler that the descheduler uses to choose nodes.
type Scheduler struct {
	Profiles     []*framework.Profile
	TieBreakSeed uint64
}

// Descheduler is the actor that runs the descheduler. Start creates it.
type Descheduler struct {
	*sim.Client
	w            *sim.World
	server       *displacement.Server
	scheduler    Scheduler
	returns      *returnCounter
	o            *Options
	steps        *sim.Stepper[struct{}]
	machine      *evacuation.Planned // nil in compatible mode
	view         *evacuation.View
	backoff      *planning.MoveBackoff
	nextRun      time.Time
	lastMessages map[*evacuation.Move]string // last messages in the timeline
	stop         func()                      // ends a running compatible run; nil if there is none
	cached       *clusterView                // nil after a change
}

// clusterView is the cluster as cached at one moment.
type clusterView struct {
	view     *evacuation.View
	snapshot *descheduling.Snapshot
}

// deschedulerBatchWindow is how long changes are collected before a step.
const deschedulerBatchWindow = 100 * time.Millisecond

// Start starts the descheduler.
func Start(w *sim.World, server *displacement.Server, s Scheduler, o *Options) *Descheduler {
	d := &Descheduler{w: w, server: server, scheduler: s, o: o, returns: newReturnCounter(), view: &evacuation.View{}}
	w.OnCommit(func(c store.Change) { d.returns.observe(c, w.Now()) })
	d.Client = w.NewClient("descheduler", d, store.SchedulingKinds[:]...)
	d.steps = sim.NewStepper(d.Client, d.step)
	d.Start()
	return d
}

// OnStop implements sim.Controller.
func (d *Descheduler) OnStop() {
	d.steps.Reset()
	if d.stop != nil {
		d.stop()
	}
}

// OnSynced implements sim.Controller.
func (d *Descheduler) OnSynced() {
	d.backoff, d.cached, d.stop, d.lastMessages = planning.NewMoveBackoff(), nil, nil, map[*evacuation.Move]string{}
	if !d.o.Compatible {
		d.machine = evacuation.NewPlanned(d.view, evacuation.PlanOptions{Holds: true, Profiles: d.profiles(), Seed: d.scheduler.TieBreakSeed, Backoff: d.backoff})
	}
	d.nextRun = d.w.Options().Start.Add(d.o.InitialDelay)
	if d.nextRun.Before(d.w.Now()) {
		d.nextRun = d.w.Now()
	}
	d.steps.Schedule(0)
}

// OnChange implements sim.Controller.
func (d *Descheduler) OnChange(store.Kind, store.Object, store.Object) {
	d.cached = nil
	d.steps.Schedule(deschedulerBatchWindow)
}

func (d *Descheduler) mode() planning.Mode {
	if d.o.WithoutHolds {
		return planning.WithoutHolds
	}
	return planning.WithHolds
}

// seed returns the tie-break seed, or 0 if another scheduler places the pods.
func (d *Descheduler) seed() uint64 {
	if d.o.WithoutHolds {
		return 0
	}
	return d.scheduler.TieBreakSeed
}

func (d *Descheduler) profiles() map[string]*framework.Profile {
	out := map[string]*framework.Profile{}
	for _, p := range d.scheduler.Profiles {
		out[p.Name()] = p
	}
	return out
}

// clusterView returns the cached cluster at the current time.
func (d *Descheduler) clusterView() *clusterView {
	if d.cached != nil {
		d.cached.snapshot.Now = d.w.Now()
		return d.cached
	}
	var objects []runtime.Object
	for _, k := range store.SchedulingKinds {
		for _, key := range d.Keys(k) {
			objects = append(objects, d.Cached(k)[key])
		}
	}
	var names []string
	for _, p := range d.scheduler.Profiles {
		names = append(names, p.Name())
	}
	state, pods, _ := d.w.Converter().Snapshot(objects, names...)
	*d.view = *evacuation.NewView(state)
	d.cached = &clusterView{view: d.view, snapshot: d.w.Converter().DeschedulingSnapshot(objects, d.w.Now())}
	for _, p := range pods {
		d.cached.view.Upsert(p)
	}
	return d.cached
}

// step executes the plan and makes a new one when a run is due.
func (d *Descheduler) step(now time.Time, _ []struct{}) time.Time {
	if d.o.Compatible {
		switch {
		case d.stop != nil: // the end of the run calls step
			return time.Time{}
		case !now.Before(d.nextRun):
			d.setNextRun(now)
			d.runCompatible()
		}
		return d.nextRun
	}
	wake := d.runMachine(now)
	if !now.Before(d.nextRun) {
		d.setNextRun(now)
		d.makePlan(now)
		wake = d.runMachine(now)
	}
	return order.Earliest(wake, d.nextRun)
}

// setNextRun sets the time of the next run.
func (d *Descheduler) setNextRun(now time.Time) {
	for !d.nextRun.After(now) {
		d.nextRun = d.nextRun.Add(d.o.Interval)
	}
}
