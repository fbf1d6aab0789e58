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
	"github.com/berthproject/berth/engine/tainteviction"
	"github.com/berthproject/berth/sim"
	"github.com/berthproject/berth/sim/agent"
	"github.com/berthproject/berth/sim/budgets"
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
	// Taints and NodeHealth configure taint eviction and the node lifecycle.
	Taints     tainteviction.Options
	NodeHealth nodelifecycle.Options
	// TaintEvictionsSkipBudgets: taint evictions add no entries to budgets, as upstream.
	TaintEvictionsSkipBudgets bool
	GC                        podgc.Options
	// Pressure configures nodes with scripted usage, Reserve their disk reserve.
	Pressure nodepressure.Config
	Reserve  nodepressure.DiskReserveConfig
	// AvoidHolds is the backoff of Avoid Holds; none are created if First is 0. NoReplacementDelay
	// lets workloads replace rejected pods at once, as upstream.
	AvoidHolds         enginedisplacement.Backoff
	NoReplacementDelay bool
	Displacement       displacement.Options
	// Descheduler adds a descheduler; may be nil. IgnoreHolds makes the scheduler ignore Holds.
	Descheduler *DeschedulerOptions
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

	Owners        *fakeowners.Replacer
	Displacement  *displacement.Server
	ledger        *budgets.Ledger
	Scheduler     *scheduler.Scheduler
	Agents        *agent.Agents
	disruption    *disruption
	taintEviction *taintEviction
	nodeLifecycle *nodeLifecycle
	podGC         *podGC
	recorder      *displacementRecorder
	workloads     *workloads
	volumes       *volumes
	endpoints     *endpoints   // may be nil
	descheduler   *descheduler // may be nil
	returns       *returnCounter
	audit         *audit
	counts        Counts
}

// New returns an empty cluster with a running control plane.
func New(o Options) *Cluster {
	if o.DecisionsPerStep == 0 {
		o.DecisionsPerStep = 64
	}
	o.Machine = o.MachineConfig()
	w := &Cluster{World: sim.New(o.Options), o: o}
	w.OnCommit(w.countChange)
	w.Owners = fakeowners.New(w.World)
	w.ledger = budgets.NewLedger(w.World, w.Owners)
	w.Displacement = displacement.NewServer(w.World, w.ledger, o.Displacement)
	w.audit = newAudit(w)
	w.OnCommit(w.audit.checkCommit)
	w.OnNotice(w.audit.observe)
	w.OnNotice(w.countNotice)
	w.returns = newReturnCounter()
	w.Scheduler = scheduler.New(w.World, w.ledger, scheduler.Options{Machine: o.Machine, DecisionsPerStep: o.DecisionsPerStep, IgnoreHolds: o.IgnoreHolds, Record: o.Record})
	w.Agents = agent.New(w.World, agent.Options{Pressure: o.Pressure, Reserve: o.Reserve})
	w.disruption = newDisruption(w)
	w.taintEviction = newTaintEviction(w)
	w.nodeLifecycle = newNodeLifecycle(w)
	w.podGC = newPodGC(w)
	w.recorder = newDisplacementRecorder(w)
	w.workloads = newWorkloads(w)
	w.Owners.Start()
	w.volumes = newVolumes(w)
	if o.Endpoints {
		w.endpoints = newEndpoints(w)
	}
	if o.Descheduler != nil {
		w.descheduler = newDescheduler(w)
	}
	return w
}
