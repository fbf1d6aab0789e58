package cluster

import (
	"slices"
	"sync"
	"time"

	"github.com/berthproject/berth/sim/store"
)

// actorKinds maps the actors with watches to the kinds they watch.
var actorKinds = sync.OnceValue(func() map[string][]store.Kind {
	out := map[string][]store.Kind{}
	for _, r := range New(Options{Endpoints: true, Descheduler: &DeschedulerOptions{}}).reflectors {
		out[r.name] = r.kinds
	}
	return out
})

// Actors returns the names of the actors with watches.
func Actors() []string { return sortedKeys(actorKinds()) }

// IsActor reports whether an actor with watches has the name.
func IsActor(name string) bool { return actorKinds()[name] != nil }

// Watches reports whether an actor watches a kind.
func Watches(name string, k store.Kind) bool { return slices.Contains(actorKinds()[name], k) }

// requestKinds are the kinds of requests that faults can be injected into. Seeds of random faults and
// recorded journals depend on these names; scenarios and timelines use those of requestKindAliases.
var requestKinds = []string{"bind", "reject", "hold", "look", "preempt", "unnominate", "prepare", "evict", "book", "mark", "tell", "delete", "status", "reset", "node", "unready"}

// requestKindAliases are plain names of request kinds for scenarios.
var requestKindAliases = map[string]string{"unschedulable": "reject", "gate": "hold", "refresh": "look", "clearnomination": "unnominate", "bindvolumes": "prepare",
	"budgetentry": "book", "disruptiontarget": "mark", "event": "tell", "resettarget": "reset", "podnotready": "unready"}

// ParseRequestKind returns the request kind for a name used in scenarios; other names are returned unchanged.
func ParseRequestKind(name string) string {
	if kind, ok := requestKindAliases[name]; ok {
		return kind
	}
	return name
}

// requestKindName returns the name of a request kind in scenarios and timelines.
func requestKindName(kind string) string {
	for name, k := range requestKindAliases {
		if k == kind {
			return name
		}
	}
	return kind
}

// RequestKindNames returns the names of the request kinds in scenarios.
func RequestKindNames() []string {
	out := make([]string, 0, len(requestKinds))
	for _, kind := range requestKinds {
		out = append(out, requestKindName(kind))
	}
	return out
}

// IsRequestKind reports whether name is a request kind or "any".
func IsRequestKind(name string) bool { return name == "any" || slices.Contains(requestKinds, name) }

// reflectorOf returns the reflector of an actor, or an unused one if there is no such actor.
func (w *Cluster) reflectorOf(name string) *reflector {
	if i := slices.IndexFunc(w.reflectors, func(r *reflector) bool { return r.name == name }); i >= 0 {
		return w.reflectors[i]
	}
	return &reflector{}
}

// SetWatchLag sets the lag of an actor's watches.
func (w *Cluster) SetWatchLag(actor string, d time.Duration) { w.reflectorOf(actor).lag = d }

// DropWatch breaks an actor's watch of a kind; after d the actor lists again.
func (w *Cluster) DropWatch(actor string, k store.Kind, d time.Duration) {
	if r := w.reflectorOf(actor); r.streams[k] != nil {
		r.drop(k, d)
	}
}

// DuplicateNextEvent delivers the next change of a kind twice to an actor.
func (w *Cluster) DuplicateNextEvent(actor string, k store.Kind) {
	if s := w.reflectorOf(actor).streams[k]; s != nil {
		s.duplicateNext = true
	}
}

// Kill stops an actor, which loses its state and pending work; after d it restarts from a
// list. Some of the requests that it has sent are still executed. For agents use KillAgent.
func (w *Cluster) Kill(actor string, d time.Duration) {
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

// IsKillable reports whether Kill accepts the name.
func IsKillable(name string) bool {
	return IsActor(name) && name != "agents"
}

// RestartAll restarts every actor and every running agent after d.
func (w *Cluster) RestartAll(d time.Duration) {
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
