package cluster

import (
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/berthproject/berth/sim"
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
	w.Agents.Kill(d)
}

// InjectFault adds a fault rule.
func (w *Cluster) InjectFault(r sim.FaultRule) { w.Faults().Add(r) }

// ClearFaults ends all random faults and rules, restarts stopped agents, reconnects
// partitioned nodes, and stops replacing annotated pods.
func (w *Cluster) ClearFaults() {
	w.Faults().Clear()
	w.Owners.Disable()
	w.Agents.Recover()
}
