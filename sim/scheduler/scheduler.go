package scheduler

import (
	"fmt"
	"slices"
	"time"

	"github.com/berthproject/berth/engine/scheduling"
	"github.com/berthproject/berth/executor"
	"github.com/berthproject/berth/sim"
	"github.com/berthproject/berth/sim/informer"
	"github.com/berthproject/berth/sim/reconciler"
	"github.com/berthproject/berth/sim/store"
)

// Step is one step of the scheduler's machine, for Options.Record.
type Step struct {
	// Restarted is set if the machine is new.
	Restarted bool
	Now       time.Time
	Limit     int // of decisions
	Inputs    []informer.Input
	Effects   []scheduling.Effect
	Wake      time.Time // zero: after an event
}

// Options configure a Scheduler.
type Options struct {
	Machine          scheduling.Config
	DecisionsPerStep int  // limit of decisions per step
	IgnoreHolds      bool // do not watch Holds
	// Record receives the machine's inputs and outputs, which are valid during the call; may be nil.
	Record func(*Step)
}

// Scheduler is the actor that runs the scheduler's machine. Create it with New.
type Scheduler struct {
	w             *sim.World
	o             Options
	client        *sim.Client
	process       *process // nil while it is stopped or not synced
	converter     *informer.Converter
	stepScheduled bool
	wakeSeq       int       // invalidates earlier wake-ups
	stepsAtTime   int       // steps without time passing
	last          time.Time // time of the last step
}

// process is a running scheduler.
type process struct {
	*reconciler.Process
	machine  *scheduling.Machine
	executor *executor.Executor
	inbox    []informer.Input
	events   []scheduling.Event
	stepped  bool                           // at least once
	effects  map[string][]scheduling.Effect // by pod UID: the effect that is executed, and those that wait for it
}

// New starts a scheduler.
func New(w *sim.World, o Options) *Scheduler {
	s := &Scheduler{w: w, o: o, converter: informer.NewConverter()}
	kinds := store.SchedulingKinds[:]
	if o.IgnoreHolds {
		kinds = slices.DeleteFunc(slices.Clone(kinds), func(k store.Kind) bool { return k == store.Holds })
	}
	s.client = reconciler.Start(w, "scheduler", s.start, kinds...)
	return s
}

// start creates an empty machine. The objects in the cache are delivered next.
func (s *Scheduler) start(r *reconciler.Process) error {
	s.converter = informer.NewConverter()
	p := &process{Process: r, machine: scheduling.New(s.o.Machine), effects: map[string][]scheduling.Effect{}}
	p.executor = s.newExecutor(p)
	r.OnChange = func(k store.Kind, old, current store.Object) {
		p.inbox = s.converter.OnChange(p.inbox, store.Change{Kind: k, Old: old, New: current})
		s.ScheduleStep()
	}
	r.OnStop = func() {
		if !s.client.IsSynced() { // it is killed; after the end of a run, its state remains
			s.process = nil
		}
	}
	s.process = p
	s.ScheduleStep()
	return nil
}

// ScheduleStep schedules a step at the current instant, after all pending events.
func (s *Scheduler) ScheduleStep() {
	if s.stepScheduled {
		return
	}
	s.stepScheduled = true
	s.w.After(0, func() {
		s.stepScheduled = false
		if s.process != nil {
			s.step(s.process)
		}
	})
}

// step passes the inbox to the machine and sends its effects.
func (s *Scheduler) step(p *process) {
	p.events = p.events[:0]
	for _, in := range p.inbox {
		p.events = append(p.events, in.Event)
	}
	effects, wake := p.machine.Step(s.w.Now(), p.events, s.o.DecisionsPerStep)
	if s.o.Record != nil {
		s.o.Record(&Step{Restarted: !p.stepped, Now: s.w.Now(), Limit: s.o.DecisionsPerStep, Inputs: p.inbox, Effects: effects, Wake: wake})
	}
	p.stepped = true
	clear(p.inbox)
	p.inbox = p.inbox[:0]
	s.w.Notify(Stepped{effects})
	for _, e := range effects {
		s.Send(e)
	}
	s.ScheduleWake(wake)
}

// MaxStepsAtTime is the maximum number of steps without time passing.
const MaxStepsAtTime = 100_000

// ScheduleWake schedules the next step at the time that the machine requests.
func (s *Scheduler) ScheduleWake(wake time.Time) {
	s.wakeSeq++
	if wake.IsZero() {
		return
	}
	if s.last.Equal(s.w.Now()) {
		s.stepsAtTime++
	} else {
		s.stepsAtTime, s.last = 0, s.w.Now()
	}
	if s.stepsAtTime > MaxStepsAtTime {
		s.w.Fail("NoBusyLoop", fmt.Sprintf("the machine requests its %dth step without time passing", s.stepsAtTime))
		return
	}
	seq := s.wakeSeq
	s.process.AtTime(wake, func() {
		if s.wakeSeq == seq {
			s.ScheduleStep()
		}
	})
}

// IsIdle reports whether no request, outcome or watch event is in flight.
func (s *Scheduler) IsIdle() bool {
	p := s.process
	return p != nil && len(p.effects) == 0 && len(p.inbox) == 0 && !s.stepScheduled && s.client.Reflector().IsSynced()
}

// InFlight returns the numbers of pods with effects, of watch events and of inputs in flight.
func (s *Scheduler) InFlight() (effects, events, inputs int) {
	if s.process == nil {
		return 0, s.client.Reflector().InFlight(), 0
	}
	return len(s.process.effects), s.client.Reflector().InFlight(), len(s.process.inbox)
}

// Machine returns the scheduler's machine, or nil while the scheduler is stopped.
func (s *Scheduler) Machine() *scheduling.Machine {
	if s.process == nil {
		return nil
	}
	return s.process.machine
}

// Converter returns the converter of the scheduler's inputs.
func (s *Scheduler) Converter() *informer.Converter { return s.converter }
