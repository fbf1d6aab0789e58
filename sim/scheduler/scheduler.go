package scheduler

import (
	"fmt"
	"slices"
	"time"

	"github.com/berthproject/berth/engine/scheduling"
	"github.com/berthproject/berth/sim"
	"github.com/berthproject/berth/sim/coroutine"
	"github.com/berthproject/berth/sim/informer"
	"github.com/berthproject/berth/sim/store"
)

// Step is one step of the scheduler's machine, for Options.Record.
type Step struct {
	// Restarted: the machine is new.
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
	machine       *scheduling.Machine // nil while stopped
	converter     *informer.Converter
	reflector     *sim.Reflector
	unsynced      int // number of kinds not listed yet
	inbox         []informer.Input
	events        []scheduling.Event
	generation    int // effects and outcomes of earlier generations are ignored
	restarted     bool
	stepScheduled bool
	wakeSeq       int       // invalidates earlier wake-ups
	stepsAtTime   int       // steps without time passing
	last          time.Time // time of the last step

	requests        []*request
	delayedRequests []*request           // reported as lost, executed later
	busyUntil       map[string]time.Time // by pod: end of its last request
	preemptions     coroutine.Group
	budgetLocks     map[[2]string]*budgetLock // by namespace and name
	binds
}

// New starts a scheduler.
func New(w *sim.World, o Options) *Scheduler {
	s := &Scheduler{w: w, o: o, busyUntil: map[string]time.Time{}, binds: newBinds()}
	w.OnCommit(s.forgetDeleted)
	w.OnClose(s.preemptions.Kill)
	kinds := store.SchedulingKinds[:]
	if o.IgnoreHolds {
		kinds = slices.DeleteFunc(slices.Clone(kinds), func(k store.Kind) bool { return k == store.Holds })
	}
	s.reflector = w.NewReflector("scheduler", s, kinds...)
	s.start()
	return s
}

// Change implements sim.Actor.
func (s *Scheduler) Change(c store.Change) {
	s.inbox = s.converter.OnChange(s.inbox, c)
	s.ScheduleStep()
}

// Replace implements sim.Actor.
func (s *Scheduler) Replace(k store.Kind, list []store.Object) {
	s.inbox = s.converter.OnReplace(s.inbox, k, list)
	s.unsynced = max(s.unsynced-1, 0)
	s.ScheduleStep()
}

// start creates an empty machine and lists.
func (s *Scheduler) start() {
	s.generation++
	s.machine, s.converter, s.restarted = scheduling.New(s.o.Machine), informer.NewConverter(), true
	s.inbox, s.unsynced, s.budgetLocks = nil, len(s.reflector.Kinds()), map[[2]string]*budgetLock{}
	s.reflector.Start()
}

// Kill stops the scheduler; each request in flight is executed or dropped. It restarts after d.
func (s *Scheduler) Kill(d time.Duration) {
	if s.machine == nil {
		return
	}
	s.w.Log("scheduler", "kill", "", "the scheduler is killed")
	s.w.Notify(sim.Killed{Actor: "scheduler"})
	s.machine = nil
	s.reflector.Stop()
	for _, r := range slices.Concat(s.requests, s.delayedRequests) {
		r.abort()
	}
	s.preemptions.Kill()
	s.requests, s.delayedRequests, s.busyUntil = nil, nil, map[string]time.Time{}
	s.generation++
	generation := s.generation
	s.w.After(d, func() {
		if s.generation == generation {
			s.w.Log("scheduler", "start", "", "the scheduler starts")
			s.start()
		}
	})
}

// ScheduleStep schedules a step at the current instant, after all pending events.
func (s *Scheduler) ScheduleStep() {
	if s.stepScheduled {
		return
	}
	s.stepScheduled = true
	s.w.After(0, func() {
		s.stepScheduled = false
		s.step()
	})
}

// step passes the inbox to the machine and sends its effects.
func (s *Scheduler) step() {
	if s.machine == nil || s.unsynced > 0 {
		return
	}
	s.events = s.events[:0]
	for _, in := range s.inbox {
		s.events = append(s.events, in.Event)
	}
	effects, wake := s.machine.Step(s.w.Now(), s.events, s.o.DecisionsPerStep)
	if s.o.Record != nil {
		s.o.Record(&Step{Restarted: s.restarted, Now: s.w.Now(), Limit: s.o.DecisionsPerStep, Inputs: s.inbox, Effects: effects, Wake: wake})
	}
	s.restarted = false
	clear(s.inbox)
	s.inbox = s.inbox[:0]
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
	seq, generation := s.wakeSeq, s.generation
	s.w.AtTime(wake, func() {
		if s.wakeSeq == seq && s.generation == generation {
			s.ScheduleStep()
		}
	})
}

// deliver delivers an outcome after the latency.
func (s *Scheduler) deliver(generation int, in informer.Input) {
	s.w.After(s.w.Latency(), func() {
		if s.generation == generation {
			s.inbox = append(s.inbox, in)
			s.ScheduleStep()
		}
	})
}

// IsIdle reports whether no request, outcome or watch event is in flight.
func (s *Scheduler) IsIdle() bool {
	return s.machine != nil && s.unsynced == 0 && len(s.requests) == 0 && len(s.inbox) == 0 && !s.stepScheduled && s.reflector.IsSynced()
}

// InFlight returns the numbers of requests, watch events and inputs in flight.
func (s *Scheduler) InFlight() (requests, events, inputs int) {
	return len(s.requests), s.reflector.InFlight(), len(s.inbox)
}

// Machine returns the scheduler's machine, or nil while the scheduler is stopped.
func (s *Scheduler) Machine() *scheduling.Machine { return s.machine }

// Converter returns the converter of the scheduler's inputs.
func (s *Scheduler) Converter() *informer.Converter { return s.converter }
