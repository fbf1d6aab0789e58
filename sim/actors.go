package sim

import (
	"time"

	"github.com/berthproject/berth/sim/store"
)

// Actor is a component with watches. NewReflector adds it to the world.
type Actor interface {
	// Change handles a change that a watch delivers.
	Change(store.Change)
	// Replace handles a list of a kind.
	Replace(store.Kind, []store.Object)
	// Kill stops the actor, which loses its state and pending work. After d it restarts from a
	// list. Some of the requests that it has sent are still executed.
	Kill(d time.Duration)
}

// ActorKinds returns the kinds that each actor watches, by the actor's name.
func (w *World) ActorKinds() map[string][]store.Kind {
	out := map[string][]store.Kind{}
	for _, r := range w.reflectors {
		out[r.name] = r.kinds
	}
	return out
}

// reflectorOf returns the reflector of an actor, or nil if there is no such actor.
func (w *World) reflectorOf(name string) *Reflector {
	for _, r := range w.reflectors {
		if r.name == name {
			return r
		}
	}
	return nil
}

// Kill kills the named actor, if it exists; after d it restarts.
func (w *World) Kill(actor string, d time.Duration) {
	if r := w.reflectorOf(actor); r != nil {
		r.actor.Kill(d)
	}
}

// LoseRetries makes the work queues of an actor drop keys after an error. Tests of invariants insert this defect.
func (w *World) LoseRetries(actor string) { w.lostRetries[actor] = true }

// SetWatchLag sets the lag of an actor's watches.
func (w *World) SetWatchLag(actor string, d time.Duration) {
	if r := w.reflectorOf(actor); r != nil {
		r.lag = d
	}
}

// WatchLag returns the lag of an actor's watches.
func (w *World) WatchLag(actor string) time.Duration {
	if r := w.reflectorOf(actor); r != nil {
		return r.lag
	}
	return 0
}

// DropWatch breaks an actor's watch of a kind; after d the actor lists again.
func (w *World) DropWatch(actor string, k store.Kind, d time.Duration) {
	if r := w.reflectorOf(actor); r != nil && r.streams[k] != nil {
		r.drop(k, d)
	}
}

// DuplicateNextEvent delivers the next change of a kind twice to an actor.
func (w *World) DuplicateNextEvent(actor string, k store.Kind) {
	if r := w.reflectorOf(actor); r != nil && r.streams[k] != nil {
		r.streams[k].duplicateNext = true
	}
}
