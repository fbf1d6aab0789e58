package sim

import (
	"slices"
	"sync"
	"time"

	"github.com/berthproject/berth/sim/store"
)

// actorKinds are the actors that watch, with what.
var actorKinds = sync.OnceValue(func() map[string][]store.Kind {
	out := map[string][]store.Kind{}
	for _, r := range New(Options{Endpoints: true, Descheduler: &DeschedulerOptions{}}).reflectors {
		out[r.name] = r.kinds
	}
	return out
})

// Actors returns the names of the actors that watch.
func Actors() []string { return sortedKeys(actorKinds()) }

// IsActor reports whether there is an actor of that name that watches.
func IsActor(name string) bool { return actorKinds()[name] != nil }

// Watches reports whether an actor watches a kind.
func Watches(name string, k store.Kind) bool { return slices.Contains(actorKinds()[name], k) }

// RequestKinds are the words for requests that can be made to fail.
var RequestKinds = []string{"bind", "reject", "hold", "look", "preempt", "unnominate", "prepare", "evict", "book", "mark", "tell", "delete", "status", "reset", "node", "unready"}

// IsRequestKind reports whether a word names an effect that can be made to fail; any does.
func IsRequestKind(name string) bool { return name == "any" || slices.Contains(RequestKinds, name) }

// reflectorOf returns an actor's; one that nothing hears when the actor is not there.
func (w *World) reflectorOf(name string) *reflector {
	if i := slices.IndexFunc(w.reflectors, func(r *reflector) bool { return r.name == name }); i >= 0 {
		return w.reflectors[i]
	}
	return &reflector{}
}

// SetWatchLag sets how far the watches of an actor are behind.
func (w *World) SetWatchLag(actor string, d time.Duration) { w.reflectorOf(actor).lag = d }

// DropWatch breaks an actor's watch of a kind. After d it lists.
func (w *World) DropWatch(actor string, k store.Kind, d time.Duration) {
	if r := w.reflectorOf(actor); r.streams[k] != nil {
		r.drop(k, d)
	}
}

// DuplicateNextEvent has the next change of a kind delivered twice to an actor.
func (w *World) DuplicateNextEvent(actor string, k store.Kind) {
	if s := w.reflectorOf(actor).streams[k]; s != nil {
		s.duplicateNext = true
	}
}

// Kill ends an actor, what it knows, and what it is about to do; after d it begins
// from a list. Of what it has sent some will be done. The agents are killed with KillAgent.
func (w *World) Kill(actor string, d time.Duration) {
	switch actor {
	case "scheduler":
		w.KillScheduler(d)
	case "owners":
		w.replacer.reflector.stop()
		w.after(d, w.replacer.reflector.start)
	}
	for _, c := range w.clients {
		if c.name == actor {
			w.log(actor, "kill", "", actor+" is killed")
			c.kill(d)
		}
	}
}

// IsKillable reports whether Kill knows an actor of that name.
func IsKillable(name string) bool {
	return IsActor(name) && name != "agents"
}

// RestartAll ends every actor, and every agent that lives, and has them begin from lists
// after d.
func (w *World) RestartAll(d time.Duration) {
	for _, actor := range Actors() {
		if IsKillable(actor) {
			w.Kill(actor, d)
		}
	}
	for _, o := range slices.Clone(w.api.List(store.Nodes)) {
		if name := o.GetName(); !w.agents.stopped[name] {
			w.KillAgent(name)
			w.after(d, func() { w.StartAgent(name) })
		}
	}
}
