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
	// Fresh: the machine has just been made; what it knew is forgotten.
	Fresh   bool
	Now     time.Time
	Limit   int
	Inputs  []Input
	Effects []scheduling.Effect
	Wake    time.Time
}

// scheduler is the actor around the machine of production.
type scheduler struct {
	w       *World
	machine *scheduling.Machine // nil while it is down
	view    *View
	reader  *reader
	missing int // kinds that were not listed yet
	inbox   []Input
	events  []scheduling.Event
	life    int // effects and answers of earlier ones are void
	fresh   bool
	poked   bool
	alarm   int // only the latest wake counts
	spins   int // steps at one instant
	last    time.Time

	requests []*request
	late     []*request           // answered as lost, and done later
	busy     map[string]time.Time // by pod: when its last request is done
}

func newScheduler(w *World) *scheduler {
	s := &scheduler{w: w, busy: map[string]time.Time{}}
	kinds := store.Kinds[:]
	if w.o.KnowsNoHolds {
		kinds = slices.DeleteFunc(slices.Clone(kinds), func(k store.Kind) bool { return k == store.Holds })
	}
	s.reader = w.newReader("scheduler", kinds...)
	s.reader.see = func(c store.Change) { s.inbox = s.view.See(s.inbox, c); s.poke() }
	s.reader.replace = func(k store.Kind, list []store.Object) {
		s.inbox = s.view.Replace(s.inbox, k, list)
		s.missing = max(s.missing-1, 0)
		s.poke()
	}
	s.start()
	return s
}

// start makes a machine that knows of nothing, and lists.
func (s *scheduler) start() {
	s.life++
	s.machine, s.view, s.fresh = scheduling.New(s.w.o.Machine), NewView(), true
	s.inbox, s.missing = nil, len(s.reader.kinds)
	s.reader.begin()
}

// KillScheduler takes the scheduler's machine away, with what it has asked for
// and not heard of: each request under way is done, or never. It begins anew after d.
func (w *World) KillScheduler(d time.Duration) {
	s := w.scheduler
	if s.machine == nil {
		return
	}
	w.tell("scheduler", "kill", "", "the scheduler is killed")
	s.machine = nil
	s.reader.end()
	for _, r := range slices.Concat(s.requests, s.late) {
		r.cut()
	}
	s.requests, s.late, s.busy = nil, nil, map[string]time.Time{}
	s.life++
	life := s.life
	w.after(d, func() {
		if s.life == life {
			w.tell("scheduler", "start", "", "the scheduler starts")
			s.start()
		}
	})
}

// poke has a step made at this instant, after what else happens in it by now.
func (s *scheduler) poke() {
	if s.poked {
		return
	}
	s.poked = true
	s.w.after(0, func() {
		s.poked = false
		s.step()
	})
}

// step feeds what has come to the machine and has its effects carried out.
func (s *scheduler) step() {
	if s.machine == nil || s.missing > 0 {
		return
	}
	s.events = s.events[:0]
	for _, in := range s.inbox {
		s.events = append(s.events, in.Event)
	}
	effects, wake := s.machine.Step(s.w.now, s.events, s.w.o.Decisions)
	if s.w.o.Record != nil {
		s.w.o.Record(&Step{Fresh: s.fresh, Now: s.w.now, Limit: s.w.o.Decisions, Inputs: s.inbox, Effects: effects, Wake: wake})
	}
	s.fresh = false
	clear(s.inbox)
	s.inbox = s.inbox[:0]
	s.w.audit.stepped(effects)
	for _, e := range effects {
		s.carry(e)
	}
	s.sleep(wake)
}

// maxSpins is how many steps may follow each other without time passing: more
// decisions than that nobody waits for at one instant.
const maxSpins = 100_000

// sleep has the machine called again when it wants to be.
func (s *scheduler) sleep(wake time.Time) {
	s.alarm++
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
	alarm, life := s.alarm, s.life
	s.w.at(wake, func() {
		if s.alarm == alarm && s.life == life {
			s.poke()
		}
	})
}

// answer reports how an effect ended, after its way back.
func (s *scheduler) answer(life int, in Input) {
	s.w.after(s.w.o.Latency, func() {
		if s.life == life {
			s.inbox = append(s.inbox, in)
			s.poke()
		}
	})
}

// quiet says that nothing is under way: no request, no answer, nothing to see.
func (s *scheduler) quiet() bool {
	return s.machine != nil && s.missing == 0 && len(s.requests) == 0 && len(s.inbox) == 0 && !s.poked && s.reader.drained()
}
