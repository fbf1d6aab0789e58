package cluster

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	enginedisplacement "github.com/berthproject/berth/engine/displacement"
	"github.com/berthproject/berth/engine/nodelifecycle"
	"github.com/berthproject/berth/engine/nodepressure"
	"github.com/berthproject/berth/engine/placement/framework"
	"github.com/berthproject/berth/engine/podgc"
	"github.com/berthproject/berth/engine/preemption"
	"github.com/berthproject/berth/engine/scheduling"
	"github.com/berthproject/berth/engine/scheduling/profiles"
	"github.com/berthproject/berth/sim"
	"github.com/berthproject/berth/sim/agent"
	"github.com/berthproject/berth/sim/budgets"
	"github.com/berthproject/berth/sim/controllers"
	"github.com/berthproject/berth/sim/controllers/descheduler"
	"github.com/berthproject/berth/sim/controllers/workload"
	"github.com/berthproject/berth/sim/displacement"
	"github.com/berthproject/berth/sim/fakeowners"
	"github.com/berthproject/berth/sim/scheduler"
)

// Options configure a Cluster.
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
	NodeHealth       nodelifecycle.Options
	GC               podgc.Options
	// Pressure configures nodes with scripted usage, Reserve their disk reserve.
	Pressure nodepressure.Config
	Reserve  nodepressure.DiskReserveConfig
	// AvoidHolds is the backoff of Avoid Holds; none are created if First is 0.
	AvoidHolds   enginedisplacement.Backoff
	Workload     workload.Options
	Displacement displacement.Options
	// Descheduler adds a descheduler; may be nil. IgnoreHolds makes the scheduler ignore Holds.
	Descheduler *descheduler.Options
	IgnoreHolds bool
	// Endpoints adds the EndpointSlice controller, which nothing else depends on.
	Endpoints bool
	// DecisionsPerStep limits the scheduler's decisions per step; 0 means 64.
	DecisionsPerStep int
	// Audit enables all invariant checks; without it only NeverMoves is checked.
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
		by := profiles.Options{Seed: o.TieBreakSeed, CacheBytes: o.ScoreCacheMemory / len(o.Profiles), Preemption: o.Preemption}
		c.Profiles = append(c.Profiles, profiles.NewWithOptions(p, by))
	}
	return c
}

// Cluster is a cluster under virtual time. Create it with New.
type Cluster struct {
	*sim.World
	o Options

	Owners       *fakeowners.Replacer
	Displacement *displacement.Server
	ledger       *budgets.Ledger
	Scheduler    *scheduler.Scheduler
	Agents       *agent.Agents
	Descheduler  *descheduler.Descheduler // may be nil
	recorder     *controllers.Records
	audit        *audit
	counts       Counts
	created      map[types.UID]time.Time // pods
	preemptors   map[string]bool         // UIDs of pods that preempted others
}

// New returns an empty cluster with a running control plane.
func New(o Options) *Cluster {
	if o.DecisionsPerStep == 0 {
		o.DecisionsPerStep = 64
	}
	o.Machine = o.MachineConfig()
	w := &Cluster{World: sim.New(o.Options), o: o, created: map[types.UID]time.Time{}, preemptors: map[string]bool{}}
	w.OnCommit(w.countChange)
	w.Owners = fakeowners.New(w.World)
	w.ledger = budgets.NewLedger(w.World, w.Owners)
	w.Displacement = displacement.NewServer(w.World, w.ledger, o.Displacement)
	w.audit = newAudit(w)
	w.OnCommit(w.audit.checkCommit)
	w.OnNotice(w.audit.observe)
	w.OnNotice(w.countNotice)
	w.Scheduler = scheduler.New(w.World, w.ledger, scheduler.Options{Machine: o.Machine, DecisionsPerStep: o.DecisionsPerStep, IgnoreHolds: o.IgnoreHolds, Record: o.Record})
	w.Agents = agent.New(w.World, agent.Options{Pressure: o.Pressure, Reserve: o.Reserve})
	controllers.StartDisruption(w.World, w.ledger)
	controllers.StartTaintEviction(w.World, w.Displacement, o.TaintEviction)
	controllers.StartNodeLifecycle(w.World, w.Agents, o.NodeHealth)
	controllers.StartPodGC(w.World, w.Displacement, o.GC)
	w.recorder = controllers.StartRecords(w.World, o.AvoidHolds)
	workload.Start(w.World, o.Workload)
	w.Owners.Start()
	controllers.StartVolumes(w.World)
	if o.Endpoints {
		controllers.StartEndpoints(w.World)
	}
	if o.Descheduler != nil {
		w.Descheduler = descheduler.Start(w.World, w.Displacement, descheduler.Scheduler{Profiles: o.Profiles, TieBreakSeed: o.TieBreakSeed}, o.Descheduler)
	}
	return w
}
