package cluster

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/berthproject/berth/engine/descheduling"
	"github.com/berthproject/berth/engine/descheduling/execution"
	"github.com/berthproject/berth/engine/descheduling/planning"
	"github.com/berthproject/berth/engine/placement/framework"
	"github.com/berthproject/berth/sim"
	"github.com/berthproject/berth/sim/store"
)

// DeschedulerOptions configure the simulated descheduler.
type DeschedulerOptions struct {
	Policy descheduling.Policy
	// Compatible evicts the candidates one by one, as the Kubernetes descheduler does; otherwise
	// moves are planned and executed.
	Compatible bool
	// WithoutHolds: the scheduler ignores Holds (see Options.IgnoreHolds).
	WithoutHolds bool
	// SchedulersWithoutHolds are the names of schedulers that ignore Holds.
	SchedulersWithoutHolds map[string]bool
	// InitialDelay is the time before the first round, Interval that between rounds.
	InitialDelay, Interval time.Duration
}

// descheduler is the actor that runs the descheduler.
type descheduler struct {
	*sim.Client
	w            *Cluster
	o            *DeschedulerOptions
	steps        *sim.Stepper[struct{}]
	machine      *execution.Machine // nil in compatible mode
	backoff      *planning.MoveBackoff
	nextRound    time.Time
	lastMessages map[*execution.Move]string
	stop         func()       // ends a running compatible round; nil if there is none
	cached       *clusterView // nil after a change
}

// clusterView is the cluster as cached at one moment.
type clusterView struct {
	view     *execution.View
	snapshot *descheduling.Snapshot
}

// deschedulerBatchWindow is how long changes are collected before a step.
const deschedulerBatchWindow = 100 * time.Millisecond

func newDescheduler(w *Cluster) *descheduler {
	d := &descheduler{w: w, o: w.o.Descheduler}
	d.Client = w.NewClient("descheduler", d, store.SchedulingKinds[:]...)
	d.steps = sim.NewStepper(d.Client, d.step)
	d.Start()
	return d
}

// OnStop implements sim.Controller.
func (d *descheduler) OnStop() {
	d.steps.Reset()
	if d.stop != nil {
		d.stop()
	}
}

// OnSynced implements sim.Controller.
func (d *descheduler) OnSynced() {
	d.backoff, d.cached, d.stop, d.lastMessages = planning.NewMoveBackoff(), nil, nil, map[*execution.Move]string{}
	if !d.o.Compatible {
		d.machine = execution.New(execution.Options{Holds: true, Profiles: d.profiles(), Seed: d.w.o.TieBreakSeed, Backoff: d.backoff})
	}
	d.nextRound = d.w.Options().Start.Add(d.o.InitialDelay)
	if d.nextRound.Before(d.w.Now()) {
		d.nextRound = d.w.Now()
	}
	d.steps.Schedule(0)
}

// OnChange implements sim.Controller.
func (d *descheduler) OnChange(store.Kind, store.Object, store.Object) {
	d.cached = nil
	d.steps.Schedule(deschedulerBatchWindow)
}

func (d *descheduler) mode() planning.Mode {
	if d.o.WithoutHolds {
		return planning.WithoutHolds
	}
	return planning.WithHolds
}

// seed returns the tie-break seed; that of another scheduler is not known.
func (d *descheduler) seed() uint64 {
	if d.o.WithoutHolds {
		return 0
	}
	return d.w.o.TieBreakSeed
}

func (d *descheduler) profiles() map[string]*framework.Profile {
	out := map[string]*framework.Profile{}
	for _, p := range d.w.o.Profiles {
		out[p.Name()] = p
	}
	return out
}

// clusterView returns the cached cluster.
func (d *descheduler) clusterView() *clusterView {
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
	for _, p := range d.w.o.Profiles {
		names = append(names, p.Name())
	}
	state, pods, _ := d.w.Converter().Snapshot(objects, names...)
	d.cached = &clusterView{view: execution.NewView(state), snapshot: d.w.Converter().DeschedulingSnapshot(objects, d.w.Now())}
	for _, p := range pods {
		d.cached.view.Upsert(p)
	}
	return d.cached
}

// step executes the plan and makes a new one when a round is due.
func (d *descheduler) step(now time.Time, _ []struct{}) time.Time {
	if d.o.Compatible {
		switch {
		case d.stop != nil: // the end of the round calls step
			return time.Time{}
		case !now.Before(d.nextRound):
			d.setNextRound(now)
			d.runCompatible()
		}
		return d.nextRound
	}
	wake := d.runMachine(now)
	if !now.Before(d.nextRound) {
		d.setNextRound(now)
		d.makePlan(now)
		wake = d.runMachine(now)
	}
	return earliest(wake, d.nextRound)
}

// setNextRound sets the time of the next round.
func (d *descheduler) setNextRound(now time.Time) {
	for !d.nextRound.After(now) {
		d.nextRound = d.nextRound.Add(d.o.Interval)
	}
}

// earliest returns the earlier of two times; zero means never.
func earliest(a, b time.Time) time.Time {
	if a.IsZero() || b.Before(a) {
		return b
	}
	return a
}

// makePlan makes a plan and passes it to the machine.
func (d *descheduler) makePlan(now time.Time) {
	c := d.clusterView()
	under := d.machine.InProgress(c.view)
	c.snapshot.ApplyInProgress(under)
	d.cached = nil // the snapshot was modified
	p := planning.New(c.snapshot, c.view.State, planning.Options{Now: now, Mode: d.mode(), SchedulersWithoutHolds: d.o.SchedulersWithoutHolds, InProgress: under, Profiles: d.profiles(), Seed: d.seed(), Backoff: d.backoff})
	descheduling.RunPolicy(c.snapshot, &d.o.Policy, p)
	made := p.Plan()
	d.machine.SetPlan(now, made)
	lastMessages := d.lastMessages
	d.lastMessages = map[*execution.Move]string{}
	for _, x := range d.machine.Moves() {
		if s, known := lastMessages[x]; known {
			d.lastMessages[x] = s
		}
	}
	if refused := formatRefusals(made); len(made.Moves) > 0 || refused != "" {
		d.w.Log(d.Name(), "plan", "", fmt.Sprintf("%d moves are planned%s", len(made.Moves), refused))
	}
}

// formatRefusals formats the refusals of a plan by reason.
func formatRefusals(p *planning.Plan) (s string) {
	for _, c := range p.Counts {
		s += fmt.Sprintf("; %d refused: %s", c.Count, c.Reason)
	}
	return s
}
