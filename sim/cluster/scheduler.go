package cluster

import (
	"fmt"
	"slices"
	"time"

	"github.com/berthproject/berth/engine/scheduling"
	"github.com/berthproject/berth/sim"
	"github.com/berthproject/berth/sim/store"
)

// Step is one step of the scheduler's machine, for Options.Record.
type Step struct {
	// Restarted: the machine is new.
	Restarted bool
	Now       time.Time
	Limit     int
	Inputs    []Input
	Effects   []scheduling.Effect
	Wake      time.Time
}

// scheduler is the actor that runs the scheduler's machine.
type scheduler struct {
	w             *Cluster
	machine       *scheduling.Machine // nil while stopped
	converter     *Converter
	reflector     *sim.Reflector
	unsynced      int // number of kinds not listed yet
	inbox         []Input
	events        []scheduling.Event
	generation    int // effects and outcomes of earlier generations are ignored
	restarted     bool
	stepScheduled bool
	wakeSeq       int // invalidates earlier wake-ups
	spins         int // steps without time passing
	last          time.Time

	requests        []*request
	delayedRequests []*request           // reported as lost, executed later
	busyUntil       map[string]time.Time // by pod: end of its last request
}

func newScheduler(w *Cluster) *scheduler {
	s := &scheduler{w: w, busyUntil: map[string]time.Time{}}
	kinds := store.SchedulingKinds[:]
	if w.o.IgnoreHolds {
		kinds = slices.DeleteFunc(slices.Clone(kinds), func(k store.Kind) bool { return k == store.Holds })
	}
	s.reflector = w.NewReflector("scheduler", s, kinds...)
	s.start()
	return s
}

// Change implements sim.Actor.
func (s *scheduler) Change(c store.Change) {
	s.inbox = s.converter.OnChange(s.inbox, c)
	s.scheduleStep()
}

// Replace implements sim.Actor.
func (s *scheduler) Replace(k store.Kind, list []store.Object) {
	s.inbox = s.converter.OnReplace(s.inbox, k, list)
	s.unsynced = max(s.unsynced-1, 0)
	s.scheduleStep()
}

// start creates an empty machine and lists.
func (s *scheduler) start() {
	s.generation++
	s.machine, s.converter, s.restarted = scheduling.New(s.w.o.Machine), NewConverter(), true
	s.inbox, s.unsynced = nil, len(s.reflector.Kinds())
	s.reflector.Start()
}

// Kill stops the scheduler; each request in flight is executed or dropped. It restarts after d.
func (s *scheduler) Kill(d time.Duration) {
	if s.machine == nil {
		return
	}
	s.w.Log("scheduler", "kill", "", "the scheduler is killed")
	s.machine = nil
	s.reflector.Stop()
	for _, r := range slices.Concat(s.requests, s.delayedRequests) {
		r.abort()
	}
	s.requests, s.delayedRequests, s.busyUntil = nil, nil, map[string]time.Time{}
	s.generation++
	life := s.generation
	s.w.After(d, func() {
		if s.generation == life {
			s.w.Log("scheduler", "start", "", "the scheduler starts")
			s.start()
		}
	})
}

// scheduleStep schedules a step at the current instant, after all pending events.
func (s *scheduler) scheduleStep() {
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
func (s *scheduler) step() {
	if s.machine == nil || s.unsynced > 0 {
		return
	}
	s.events = s.events[:0]
	for _, in := range s.inbox {
		s.events = append(s.events, in.Event)
	}
	effects, wake := s.machine.Step(s.w.Now(), s.events, s.w.o.DecisionsPerStep)
	if s.w.o.Record != nil {
		s.w.o.Record(&Step{Restarted: s.restarted, Now: s.w.Now(), Limit: s.w.o.DecisionsPerStep, Inputs: s.inbox, Effects: effects, Wake: wake})
	}
	s.restarted = false
	clear(s.inbox)
	s.inbox = s.inbox[:0]
	s.w.audit.checkStep(effects)
	for _, e := range effects {
		s.send(e)
	}
	s.scheduleWake(wake)
}

// maxSpins is the maximum number of steps without time passing.
const maxSpins = 100_000

// scheduleWake schedules the next step at the time that the machine requests.
func (s *scheduler) scheduleWake(wake time.Time) {
	s.wakeSeq++
	if wake.IsZero() {
		return
	}
	if s.last.Equal(s.w.Now()) {
		s.spins++
	} else {
		s.spins, s.last = 0, s.w.Now()
	}
	if s.spins > maxSpins {
		s.w.audit.fail("NoBusyLoop", fmt.Sprintf("the machine requests its %dth step without time passing", s.spins))
		return
	}
	alarm, life := s.wakeSeq, s.generation
	s.w.AtTime(wake, func() {
		if s.wakeSeq == alarm && s.generation == life {
			s.scheduleStep()
		}
	})
}

// deliver delivers an outcome after the latency.
func (s *scheduler) deliver(life int, in Input) {
	s.w.After(s.w.Latency(), func() {
		if s.generation == life {
			s.inbox = append(s.inbox, in)
			s.scheduleStep()
		}
	})
}

// isIdle reports whether no request, outcome or watch event is in flight.
func (s *scheduler) isIdle() bool {
	return s.machine != nil && s.unsynced == 0 && len(s.requests) == 0 && len(s.inbox) == 0 && !s.stepScheduled && s.reflector.IsSynced()
}
