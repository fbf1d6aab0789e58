package sim

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/berthproject/berth/engine/placement"
	"github.com/berthproject/berth/engine/rebalance"
	"github.com/berthproject/berth/engine/rebalance/carry"
	"github.com/berthproject/berth/engine/rebalance/plan"
	"github.com/berthproject/berth/sim/store"
)

// Descheduling is how the simulated descheduler goes about it.
type Descheduling struct {
	Policy rebalance.Policy
	// Compatible: what the strategies propose is evicted, one pod after another, as by the Kubernetes
	// descheduler; otherwise it is planned, and the plan carried out.
	Compatible bool
	// Unheld: no place can be held, as beside a scheduler that knows no Holds (Options.KnowsNoHolds).
	Unheld bool
	// Others are schedulers, by name, for whose pods alone no place can be held.
	Others map[string]bool
	// First is when the first round is, after the start, and Every how long it is from one to the next.
	First, Every time.Duration
}

// descheduler is the actor that moves pods for the sake of a better distribution.
type descheduler struct {
	*client
	o       *Descheduling
	steps   stepper[struct{}]
	machine *carry.Machine // nil in compatible mode
	memory  *plan.Memory
	next    time.Time // of the next round
	told    map[*carry.Move]string
	stop    func()        // ends a compatible round that is under way; nil: none is
	seen    *descheduling // what there was when it was last looked at; nil: something has changed since
}

// descheduling is the cluster as the descheduler knows it at one moment.
type descheduling struct {
	view     *carry.View
	snapshot *rebalance.Snapshot
}

// holdings is how long events are gathered before they are looked at: nothing here is urgent.
const holdings = 100 * time.Millisecond

func newDescheduler(w *World) *descheduler {
	d := &descheduler{client: w.newClient("descheduler", store.Kinds[:]...), o: w.o.Descheduling}
	d.steps = stepper[struct{}]{c: d.client, step: d.step}
	d.end = func() {
		d.steps.forget()
		if d.stop != nil {
			d.stop()
		}
	}
	d.begin = func() {
		d.memory, d.seen, d.stop, d.told = plan.NewMemory(), nil, nil, map[*carry.Move]string{}
		if !d.o.Compatible {
			d.machine = carry.New(carry.Options{Holds: true, Profiles: d.profiles(), Seed: w.o.Ties, Memory: d.memory})
		}
		d.next = w.start.Add(d.o.First)
		if d.next.Before(w.now) {
			d.next = w.now
		}
		d.steps.poke(0)
	}
	d.see = func(store.Kind, store.Object, store.Object) {
		d.seen = nil
		d.steps.poke(holdings)
	}
	d.start()
	return d
}

func (d *descheduler) mode() plan.Mode {
	if d.o.Unheld {
		return plan.Unheld
	}
	return plan.Held
}

// seed is what ties go by; of another scheduler that is not known.
func (d *descheduler) seed() uint64 {
	if d.o.Unheld {
		return 0
	}
	return d.w.o.Ties
}

func (d *descheduler) profiles() map[string]*placement.Profile {
	out := map[string]*placement.Profile{}
	for _, p := range d.w.o.Profiles {
		out[p.Name()] = p
	}
	return out
}

// look is the cluster as it is known now.
func (d *descheduler) look() *descheduling {
	if d.seen != nil {
		d.seen.snapshot.Now = d.w.now
		return d.seen
	}
	var objects []runtime.Object
	for _, k := range store.Kinds {
		for _, key := range sortedKeys(d.known[k]) {
			objects = append(objects, d.known[k][key])
		}
	}
	var names []string
	for _, p := range d.w.o.Profiles {
		names = append(names, p.Name())
	}
	state, pods, _ := d.w.intake.Snapshot(objects, names...)
	d.seen = &descheduling{view: carry.NewView(state), snapshot: d.w.intake.DeschedulerSnapshot(objects, d.w.now)}
	for _, p := range pods {
		d.seen.view.Put(p)
	}
	return d.seen
}

// step goes on with the plan, and makes another when its time has come.
func (d *descheduler) step(now time.Time, _ []struct{}) time.Time {
	if d.o.Compatible {
		switch {
		case d.stop != nil: // its end has this called again
			return time.Time{}
		case !now.Before(d.next):
			d.turn(now)
			d.compatible()
		}
		return d.next
	}
	wake := d.carryOn(now)
	if !now.Before(d.next) {
		d.turn(now)
		d.plan(now)
		wake = d.carryOn(now)
	}
	return earlier(wake, d.next)
}

// turn sets the time of the next round.
func (d *descheduler) turn(now time.Time) {
	for !d.next.After(now) {
		d.next = d.next.Add(d.o.Every)
	}
}

// earlier is the earlier of two times; zero is never.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || b.Before(a) {
		return b
	}
	return a
}

// plan makes a plan for the machine.
func (d *descheduler) plan(now time.Time) {
	c := d.look()
	under := d.machine.UnderWay(c.view)
	c.snapshot.Foresee(under)
	d.seen = nil // the snapshot is not of now any more
	p := plan.New(c.snapshot, c.view.State, plan.Options{Now: now, Mode: d.mode(), Others: d.o.Others, UnderWay: under, Profiles: d.profiles(), Seed: d.seed(), Memory: d.memory})
	rebalance.RunPolicy(c.snapshot, &d.o.Policy, p)
	made := p.Plan()
	d.machine.Take(now, made)
	told := d.told
	d.told = map[*carry.Move]string{}
	for _, x := range d.machine.Moves() {
		if s, known := told[x]; known {
			d.told[x] = s
		}
	}
	if refused := tally(made); len(made.Moves) > 0 || refused != "" {
		d.w.tell(d.name, "plan", "", fmt.Sprintf("%d moves are planned%s", len(made.Moves), refused))
	}
}

// tally counts what a plan has refused, by why.
func tally(p *plan.Plan) (s string) {
	for _, c := range p.Counts {
		s += fmt.Sprintf("; %d refused: %s", c.N, c.Why)
	}
	return s
}
