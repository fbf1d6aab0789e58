package sim

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/berthproject/berth/engine/descheduling"
	"github.com/berthproject/berth/engine/descheduling/execution"
	"github.com/berthproject/berth/engine/descheduling/planning"
	"github.com/berthproject/berth/engine/placement"
	"github.com/berthproject/berth/sim/store"
)

// DeschedulerOptions is how the simulated descheduler goes about it.
type DeschedulerOptions struct {
	Policy descheduling.Policy
	// Compatible: what the strategies propose is evicted, one pod after another, as by the Kubernetes
	// descheduler; otherwise it is planned, and the plan carried out.
	Compatible bool
	// WithoutHolds: no place can be held, as beside a scheduler that knows no Holds (Options.KnowsNoHolds).
	WithoutHolds bool
	// SchedulersWithoutHolds are schedulers, by name, for whose pods alone no place can be held.
	SchedulersWithoutHolds map[string]bool
	// InitialDelay is when the first round is, after the start, and Every how long it is from one to the next.
	InitialDelay, Interval time.Duration
}

// descheduler is the actor that moves pods for the sake of a better distribution.
type descheduler struct {
	*client
	o            *DeschedulerOptions
	steps        stepper[struct{}]
	machine      *execution.Machine // nil in compatible mode
	backoff      *planning.MoveBackoff
	nextRound    time.Time // of the next round
	lastMessages map[*execution.Move]string
	stop         func()       // ends a compatible round that is in progress; nil: none is
	cached       *clusterView // what there was when it was last checked; nil: something has changed since
}

// clusterView is the cluster as the descheduler knows it at one moment.
type clusterView struct {
	view     *execution.View
	snapshot *descheduling.Snapshot
}

// deschedulerBatchWindow is how long events are gathered before they are checked: nothing here is urgent.
const deschedulerBatchWindow = 100 * time.Millisecond

func newDescheduler(w *World) *descheduler {
	d := &descheduler{client: w.newClient("descheduler", store.SchedulingKinds[:]...), o: w.o.Descheduler}
	d.steps = stepper[struct{}]{c: d.client, step: d.step}
	d.onStop = func() {
		d.steps.reset()
		if d.stop != nil {
			d.stop()
		}
	}
	d.onSynced = func() {
		d.backoff, d.cached, d.stop, d.lastMessages = planning.NewMoveBackoff(), nil, nil, map[*execution.Move]string{}
		if !d.o.Compatible {
			d.machine = execution.New(execution.Options{Holds: true, Profiles: d.profiles(), Seed: w.o.TieBreakSeed, Backoff: d.backoff})
		}
		d.nextRound = w.start.Add(d.o.InitialDelay)
		if d.nextRound.Before(w.now) {
			d.nextRound = w.now
		}
		d.steps.schedule(0)
	}
	d.onChange = func(store.Kind, store.Object, store.Object) {
		d.cached = nil
		d.steps.schedule(deschedulerBatchWindow)
	}
	d.start()
	return d
}

func (d *descheduler) mode() planning.Mode {
	if d.o.WithoutHolds {
		return planning.WithoutHolds
	}
	return planning.WithHolds
}

// seed returns what ties go by; of another scheduler that is not known.
func (d *descheduler) seed() uint64 {
	if d.o.WithoutHolds {
		return 0
	}
	return d.w.o.TieBreakSeed
}

func (d *descheduler) profiles() map[string]*placement.Profile {
	out := map[string]*placement.Profile{}
	for _, p := range d.w.o.Profiles {
		out[p.Name()] = p
	}
	return out
}

// clusterView returns the cluster as it is known now.
func (d *descheduler) clusterView() *clusterView {
	if d.cached != nil {
		d.cached.snapshot.Now = d.w.now
		return d.cached
	}
	var objects []runtime.Object
	for _, k := range store.SchedulingKinds {
		for _, key := range sortedKeys(d.cache[k]) {
			objects = append(objects, d.cache[k][key])
		}
	}
	var names []string
	for _, p := range d.w.o.Profiles {
		names = append(names, p.Name())
	}
	state, pods, _ := d.w.intake.Snapshot(objects, names...)
	d.cached = &clusterView{view: execution.NewView(state), snapshot: d.w.intake.DeschedulingSnapshot(objects, d.w.now)}
	for _, p := range pods {
		d.cached.view.Upsert(p)
	}
	return d.cached
}

// step goes on with the plan, and makes another when its time has come.
func (d *descheduler) step(now time.Time, _ []struct{}) time.Time {
	if d.o.Compatible {
		switch {
		case d.stop != nil: // its end has this called again
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

// earliest returns the earlier of two times; zero is never.
func earliest(a, b time.Time) time.Time {
	if a.IsZero() || b.Before(a) {
		return b
	}
	return a
}

// makePlan makes a plan for the machine.
func (d *descheduler) makePlan(now time.Time) {
	c := d.clusterView()
	under := d.machine.InProgress(c.view)
	c.snapshot.ApplyInProgress(under)
	d.cached = nil // the snapshot is not of now any longer
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
		d.w.log(d.name, "plan", "", fmt.Sprintf("%d moves are planned%s", len(made.Moves), refused))
	}
}

// formatRefusals counts what a plan has refused, by why.
func formatRefusals(p *planning.Plan) (s string) {
	for _, c := range p.Counts {
		s += fmt.Sprintf("; %d refused: %s", c.Count, c.Reason)
	}
	return s
}
