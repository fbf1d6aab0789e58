package cluster

import (
	"time"

	"github.com/berthproject/berth/sim"
	"github.com/berthproject/berth/sim/agent"
	"github.com/berthproject/berth/sim/budgets"
	"github.com/berthproject/berth/sim/controllers"
	"github.com/berthproject/berth/sim/controllers/descheduler"
	"github.com/berthproject/berth/sim/controllers/workload"
	"github.com/berthproject/berth/sim/displacement"
	"github.com/berthproject/berth/sim/fakeowners"
	"github.com/berthproject/berth/sim/invariants"
	"github.com/berthproject/berth/sim/scheduler"
)

// Cluster is a cluster under virtual time. Create it with New.
type Cluster struct {
	*sim.World
	Scheduler    *scheduler.Scheduler
	Agents       *agent.Agents
	Owners       *fakeowners.Replacer
	Displacement *displacement.Server
	Invariants   *invariants.Checker

	counter *counter
}

// New returns an empty cluster with a running control plane. Actors observe a commit in the order
// in which they start here.
func New(o Options) *Cluster {
	if o.DecisionsPerStep == 0 {
		o.DecisionsPerStep = 64
	}
	w := sim.New(o.Options)
	owners := fakeowners.New(w)
	ledger := budgets.NewLedger(w, owners)
	c := &Cluster{World: w, Owners: owners, Displacement: displacement.NewServer(w, ledger, o.Evictions), counter: newCounter(w, owners)}
	c.Scheduler = scheduler.New(w, scheduler.Options{Machine: o.MachineConfig(), DecisionsPerStep: o.DecisionsPerStep, IgnoreHolds: o.IgnoreHolds, Record: o.Record})
	c.Agents = agent.New(w, agent.Options{Pressure: o.Pressure, Reserve: o.Reserve})
	controllers.StartDisruption(w, owners)
	controllers.StartTaintEviction(w, o.TaintEviction)
	controllers.StartNodeLifecycle(w, c.Agents.IsQuiet, o.NodeLifecycle)
	controllers.StartPodGC(w, o.GC)
	recorder := controllers.StartRecords(w, o.AvoidHolds)
	workload.Start(w, o.Workload)
	owners.Start()
	controllers.StartVolumes(w)
	if o.Endpoints {
		controllers.StartEndpoints(w)
	}
	if o.GarbageCollector {
		controllers.StartGarbageCollector(w)
	}
	if o.Descheduler != nil {
		descheduler.Start(w, o.Profiles, o.TieBreakSeed, o.Descheduler)
	}
	c.Invariants = invariants.New(w, invariants.Options{All: o.Audit, Scheduler: c.Scheduler, Ledger: ledger, Recorder: recorder,
		Profiles: o.Profiles, TieBreakSeed: o.TieBreakSeed, Preemption: o.Preemption, KeepDebits: !o.Evictions.Refund})
	return c
}

// RestartAll restarts every actor and every running agent after d.
func (c *Cluster) RestartAll(d time.Duration) {
	for _, actor := range Actors() {
		if IsKillable(actor) {
			c.Kill(actor, d)
		}
	}
	c.Agents.Kill(d)
}

// ClearFaults ends all random faults and rules, restarts stopped agents, reconnects partitioned
// nodes, and stops replacing annotated pods.
func (c *Cluster) ClearFaults() {
	c.Faults().Clear()
	c.Owners.Disable()
	c.Agents.Recover()
}

// CheckSettled checks a cluster after all faults are cleared and everything had time to settle.
func (c *Cluster) CheckSettled() error { return c.Invariants.CheckSettled() }
