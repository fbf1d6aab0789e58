package cluster

import (
	enginedisplacement "github.com/berthproject/berth/engine/displacement"
	"github.com/berthproject/berth/engine/nodelifecycle"
	"github.com/berthproject/berth/engine/nodepressure"
	"github.com/berthproject/berth/engine/placement/framework"
	"github.com/berthproject/berth/engine/podgc"
	"github.com/berthproject/berth/engine/preemption"
	"github.com/berthproject/berth/engine/scheduling"
	"github.com/berthproject/berth/engine/scheduling/profiles"
	"github.com/berthproject/berth/internal/eviction"
	"github.com/berthproject/berth/sim"
	"github.com/berthproject/berth/sim/controllers"
	"github.com/berthproject/berth/sim/controllers/descheduler"
	"github.com/berthproject/berth/sim/controllers/workload"
	"github.com/berthproject/berth/sim/scheduler"
)

// Options configures a Cluster.
type Options struct {
	sim.Options
	// Machine configures the scheduler; its Profiles are derived from those below.
	Machine  scheduling.Config
	Profiles []*framework.Profile
	// TieBreakSeed is the scheduler's seed; ScoreCacheMemory limits its score caches (0: the
	// default).
	TieBreakSeed     uint64
	ScoreCacheMemory int
	Preemption       preemption.Options
	TaintEviction    controllers.TaintEvictionOptions
	NodeLifecycle    nodelifecycle.Options
	GC               podgc.Options
	// Pressure configures nodes with scripted usage, Reserve their disk reserve.
	Pressure nodepressure.Config
	Reserve  nodepressure.DiskReserveConfig
	// AvoidHolds is the backoff of Avoid Holds; none are created if First is 0.
	AvoidHolds enginedisplacement.Backoff
	Workload   workload.Options
	Evictions  eviction.Options
	// Descheduler adds a descheduler; may be nil. IgnoreHolds makes the scheduler ignore Holds.
	Descheduler *descheduler.Options
	IgnoreHolds bool
	// Endpoints adds the EndpointSlice controller, which nothing else depends on.
	Endpoints bool
	// GarbageCollector adds the garbage collector of objects whose owners were deleted.
	GarbageCollector bool
	// DecisionsPerStep limits the scheduler's decisions per step; 0 means 64.
	DecisionsPerStep int
	// Audit enables all invariant checks; see invariants.Options.All.
	Audit bool
	// Record receives the scheduler's inputs and outputs, which are valid during the call; may be
	// nil.
	Record func(*scheduler.Step)
}

// MachineConfig returns the scheduler's configuration with the profiles.
func (o *Options) MachineConfig() scheduling.Config {
	c := o.Machine
	c.Profiles = nil
	for _, p := range o.Profiles {
		profileOptions := profiles.Options{Seed: o.TieBreakSeed, CacheBytes: o.ScoreCacheMemory / len(o.Profiles), Preemption: o.Preemption}
		c.Profiles = append(c.Profiles, profiles.NewWithOptions(p, profileOptions))
	}
	return c
}
