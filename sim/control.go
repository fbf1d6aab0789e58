package sim

import (
	"slices"
	"sync"
	"time"

	"github.com/berthproject/berth/sim/store"
)

// watched are the actors that watch, with what.
var watched = sync.OnceValue(func() map[string][]store.Kind {
	out := map[string][]store.Kind{}
	for _, r := range New(Options{Endpoints: true, Descheduling: &Descheduling{}}).readers {
		out[r.name] = r.kinds
	}
	return out
})

// Readers are the names of the actors that watch.
func Readers() []string { return sortedKeys(watched()) }

// IsReader says whether there is an actor of that name that watches.
func IsReader(name string) bool { return watched()[name] != nil }

// Watches says whether an actor watches a kind.
func Watches(name string, k store.Kind) bool { return slices.Contains(watched()[name], k) }

// Effects are the words for requests that can be spoilt.
var Effects = []string{"bind", "reject", "hold", "look", "preempt", "unnominate", "prepare", "evict", "book", "mark", "tell", "delete", "status", "reset", "node", "unready"}

// IsEffect says whether a word names an effect that can be spoilt; any does.
func IsEffect(name string) bool { return name == "any" || slices.Contains(Effects, name) }

// reader is an actor's; one that nobody hears when the actor is not there.
func (w *World) reader(name string) *reader {
	if i := slices.IndexFunc(w.readers, func(r *reader) bool { return r.name == name }); i >= 0 {
		return w.readers[i]
	}
	return &reader{}
}

// SetLag sets how far the watches of an actor are behind.
func (w *World) SetLag(actor string, d time.Duration) { w.reader(actor).lag = d }

// Drop breaks an actor's watch of a kind. After d it lists.
func (w *World) Drop(actor string, k store.Kind, d time.Duration) {
	if r := w.reader(actor); r.streams[k] != nil {
		r.drop(k, d)
	}
}

// Repeat has the next change of a kind delivered twice to an actor.
func (w *World) Repeat(actor string, k store.Kind) {
	if s := w.reader(actor).streams[k]; s != nil {
		s.repeat = true
	}
}

// Kill ends an actor, what it knows, and what it is about to do; after d it begins
// from a list. Of what it has sent some will be done. The agents are killed with KillAgent.
func (w *World) Kill(actor string, d time.Duration) {
	switch actor {
	case "scheduler":
		w.KillScheduler(d)
	case "owners":
		w.owners.r.end()
		w.after(d, w.owners.r.begin)
	}
	for _, c := range w.clients {
		if c.name == actor {
			w.tell(actor, "kill", "", actor+" is killed")
			c.kill(d)
		}
	}
}

// IsKillable says whether Kill knows an actor of that name.
func IsKillable(name string) bool {
	return IsReader(name) && name != "agents"
}

// RestartAll ends every actor, and every agent that lives, and has them begin from lists
// after d.
func (w *World) RestartAll(d time.Duration) {
	for _, actor := range Readers() {
		if IsKillable(actor) {
			w.Kill(actor, d)
		}
	}
	for _, o := range slices.Clone(w.api.List(store.Nodes)) {
		if name := o.GetName(); !w.agents.down[name] {
			w.KillAgent(name)
			w.after(d, func() { w.StartAgent(name) })
		}
	}
}
