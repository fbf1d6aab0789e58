package sim

import (
	"fmt"
	"slices"
	"time"

	"github.com/berthproject/berth/engine/scheduling"
	"github.com/berthproject/berth/sim/store"
)

// Step is one step of the scheduler's machine, for who records.
type Step struct {
	// Restarted: the machine has just been made; what it knew is forgotten.
	Restarted bool
	Now       time.Time
	Limit     int
	Inputs    []Input
	Effects   []scheduling.Effect
	Wake      time.Time
}

// scheduler is the actor around the machine of production.
type scheduler struct {
	w             *World
	machine       *scheduling.Machine // nil while it is down
	converter     *Converter
	reflector     *reflector
	unsynced      int // kinds that were not listed yet
	inbox         []Input
	events        []scheduling.Event
	generation    int // effects and answers of earlier ones are void
	restarted     bool
	stepScheduled bool
	wakeSeq       int // only the latest wake counts
	spins         int // steps at one instant
	last          time.Time

	requests        []*request
	delayedRequests []*request           // answered as lost, and done later
	busyUntil       map[string]time.Time // by pod: when its last request is done
}

func newScheduler(w *World) *scheduler {
	s := &scheduler{w: w, busyUntil: map[string]time.Time{}}
	kinds := store.SchedulingKinds[:]
	if w.o.IgnoreHolds {
		kinds = slices.DeleteFunc(slices.Clone(kinds), func(k store.Kind) bool { return k == store.Holds })
	}
	s.reflector = w.newReflector("scheduler", kinds...)
	s.reflector.onChange = func(c store.Change) { s.inbox = s.converter.OnChange(s.inbox, c); s.scheduleStep() }
	s.reflector.onReplace = func(k store.Kind, list []store.Object) {
		s.inbox = s.converter.OnReplace(s.inbox, k, list)
		s.unsynced = max(s.unsynced-1, 0)
		s.scheduleStep()
	}
	s.start()
	return s
}

// start makes a machine that knows of nothing, and lists.
func (s *scheduler) start() {
	s.generation++
	s.machine, s.converter, s.restarted = scheduling.New(s.w.o.Machine), NewConverter(), true
	s.inbox, s.unsynced = nil, len(s.reflector.kinds)
	s.reflector.start()
}

// KillScheduler takes the scheduler's machine away, with what it has asked for
// and not heard of: each request in progress is done, or never. It begins anew after d.
func (w *World) KillScheduler(d time.Duration) {
	s := w.scheduler
	if s.machine == nil {
		return
	}
	w.log("scheduler", "kill", "", "the scheduler is killed")
	s.machine = nil
	s.reflector.stop()
	for _, r := range slices.Concat(s.requests, s.delayedRequests) {
		r.abort()
	}
	s.requests, s.delayedRequests, s.busyUntil = nil, nil, map[string]time.Time{}
	s.generation++
	life := s.generation
	w.after(d, func() {
		if s.generation == life {
			w.log("scheduler", "start", "", "the scheduler starts")
			s.start()
		}
	})
}

// scheduleStep has a step made at this instant, after what else happens in it so far.
func (s *scheduler) scheduleStep() {
	if s.stepScheduled {
		return
	}
	s.stepScheduled = true
	s.w.after(0, func() {
		s.stepScheduled = false
		s.step()
	})
}

// step feeds what has come to the machine and has its effects carried out.
func (s *scheduler) step() {
	if s.machine == nil || s.unsynced > 0 {
		return
	}
	s.events = s.events[:0]
	for _, in := range s.inbox {
		s.events = append(s.events, in.Event)
	}
	effects, wake := s.machine.Step(s.w.now, s.events, s.w.o.DecisionsPerStep)
	if s.w.o.Record != nil {
		s.w.o.Record(&Step{Restarted: s.restarted, Now: s.w.now, Limit: s.w.o.DecisionsPerStep, Inputs: s.inbox, Effects: effects, Wake: wake})
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

// maxSpins is how many steps may follow each other without time passing: more
// decisions than that nothing waits for at one instant.
const maxSpins = 100_000

// scheduleWake has the machine called again when it wants to be.
func (s *scheduler) scheduleWake(wake time.Time) {
	s.wakeSeq++
	if wake.IsZero() {
		return
	}
	if s.last.Equal(s.w.now) {
		s.spins++
	} else {
		s.spins, s.last = 0, s.w.now
	}
	if s.spins > maxSpins {
		s.w.audit.fail("NoSpin", fmt.Sprintf("the machine wants to be called again at once for the %dth time", s.spins))
		return
	}
	alarm, life := s.wakeSeq, s.generation
	s.w.at(wake, func() {
		if s.wakeSeq == alarm && s.generation == life {
			s.scheduleStep()
		}
	})
}

// deliver reports how an effect ended, after its way back.
func (s *scheduler) deliver(life int, in Input) {
	s.w.after(s.w.o.Latency, func() {
		if s.generation == life {
			s.inbox = append(s.inbox, in)
			s.scheduleStep()
		}
	})
}

// isIdle reports whether nothing is in progress: no request, no answer, nothing to see.
func (s *scheduler) isIdle() bool {
	return s.machine != nil && s.unsynced == 0 && len(s.requests) == 0 && len(s.inbox) == 0 && !s.stepScheduled && s.reflector.isSynced()
}
