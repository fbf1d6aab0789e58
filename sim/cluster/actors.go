package cluster

import (
	"maps"
	"slices"
	"sync"

	"github.com/berthproject/berth/sim/controllers/descheduler"
	"github.com/berthproject/berth/sim/store"
)

// actorKinds maps the actors with watches to the kinds they watch.
var actorKinds = sync.OnceValue(func() map[string][]store.Kind {
	return New(Options{Endpoints: true, Descheduler: &descheduler.Options{}}).ActorKinds()
})

// Actors returns the names of the actors with watches.
func Actors() []string { return slices.Sorted(maps.Keys(actorKinds())) }

// IsActor reports whether an actor with watches has the name.
func IsActor(name string) bool { return actorKinds()[name] != nil }

// Watches reports whether an actor watches a kind.
func Watches(name string, k store.Kind) bool { return slices.Contains(actorKinds()[name], k) }

// IsKillable reports whether an actor with the name can be killed as one process; agents are stopped per node.
func IsKillable(name string) bool { return IsActor(name) && name != "agents" }
