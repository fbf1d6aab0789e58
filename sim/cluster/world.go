package cluster

import (
	"container/heap"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/berthproject/berth/engine/budget"
	enginedisplacement "github.com/berthproject/berth/engine/displacement"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/nodelifecycle"
	"github.com/berthproject/berth/engine/nodepressure"
	"github.com/berthproject/berth/engine/placement/framework"
	"github.com/berthproject/berth/engine/podgc"
	"github.com/berthproject/berth/engine/preemption"
	"github.com/berthproject/berth/engine/scheduling"
	"github.com/berthproject/berth/engine/scheduling/profiles"
	"github.com/berthproject/berth/engine/tainteviction"
	"github.com/berthproject/berth/internal/conversion"
	"github.com/berthproject/berth/sim/store"
)

// Options configure a Cluster.
type Options struct {
	Start time.Time // zero: 2026-01-01 00:00 UTC
	Seed  uint64    // of faults
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
	// Evictions are the rules of the eviction API. KeepFailedDebits keeps the debits of an
	// eviction that failed.
	Evictions        budget.Evictions
	KeepFailedDebits bool
	// Descheduler adds a descheduler; may be nil. IgnoreHolds makes the scheduler ignore Holds.
	Descheduler *DeschedulerOptions
	IgnoreHolds bool
	// Endpoints adds the EndpointSlice controller, which nothing else depends on.
	Endpoints bool
	// Latency is the one-way latency of requests.
	Latency time.Duration
	// Lag is the lag of watches.
	Lag    time.Duration
	Faults Faults
	// DecisionsPerStep limits the scheduler's decisions per step; 0 means 64.
	DecisionsPerStep int
	// Audit enables all invariant checks; without it only NeverMoves is checked.
	Audit bool
	// OnLine receives the timeline; may be nil.
	OnLine func(Line)
	// Stop is polled; if it returns true, the run ends. May be nil.
	Stop func() bool
	// Record receives the scheduler's inputs and outputs, which are valid during the call; may be
	// nil.
	Record func(*Step)
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
	o     Options
	now   time.Time
	start time.Time
	queue eventHeap
	seq   uint64
	steps int // number of executed events

	api             *store.Store
	intake          *conversion.Converter // of the actors
	compiled        map[types.UID]*model.Pod
	budgetPods      map[types.UID]*model.Pod
	budgetIndex     *budgetIndex // of the stored objects
	affectedBudgets []string     // by the last commit
	reflectors      []*reflector
	clients         []*client
	faults          *faults
	scheduler       *scheduler
	agents          *agents
	disruption      *disruption
	taintEviction   *taintEviction
	nodeLifecycle   *nodeLifecycle
	podGC           *podGC
	recorder        *displacementRecorder
	workloads       *workloads
	replacer        *podReplacer
	volumes         *volumes
	endpoints       *endpoints   // may be nil
	descheduler     *descheduler // may be nil
	returns         *returnCounter
	audit           *audit
	counts          Counts
}

// New returns an empty cluster with a running control plane.
func New(o Options) *Cluster {
	if o.Start.IsZero() {
		o.Start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	}
	if o.DecisionsPerStep == 0 {
		o.DecisionsPerStep = 64
	}
	if o.OnLine == nil {
		o.OnLine = func(Line) {}
	}
	o.Machine = o.MachineConfig()
	w := &Cluster{o: o, now: o.Start, start: o.Start, intake: conversion.New(), compiled: map[types.UID]*model.Pod{}, budgetPods: map[types.UID]*model.Pod{}, budgetIndex: newBudgetIndex()}
	w.api = store.New(func() time.Time { return w.now })
	w.api.OnCommit = w.onCommit
	w.faults = newFaults(w)
	w.audit = newAudit(w)
	w.returns = newReturnCounter()
	w.scheduler = newScheduler(w)
	w.agents = newAgents(w)
	w.disruption = newDisruption(w)
	w.taintEviction = newTaintEviction(w)
	w.nodeLifecycle = newNodeLifecycle(w)
	w.podGC = newPodGC(w)
	w.recorder = newDisplacementRecorder(w)
	w.workloads = newWorkloads(w)
	w.replacer = newPodReplacer(w)
	w.volumes = newVolumes(w)
	if o.Endpoints {
		w.endpoints = newEndpoints(w)
	}
	if o.Descheduler != nil {
		w.descheduler = newDescheduler(w)
	}
	return w
}

// API returns the simulated API server. Actors observe writes to it as usual.
func (w *Cluster) API() *store.Store { return w.api }

// Now returns the virtual time.
func (w *Cluster) Now() time.Time { return w.now }

// Elapsed returns the virtual time since the start.
func (w *Cluster) Elapsed() time.Duration { return w.now.Sub(w.start) }

// Steps returns the number of executed events.
func (w *Cluster) Steps() int { return w.steps }

// Machine returns the scheduler's machine, or nil while the scheduler is stopped.
func (w *Cluster) Machine() *scheduling.Machine { return w.scheduler.machine }

// At calls f at a time after the start, after everything scheduled earlier for that time.
func (w *Cluster) At(d time.Duration, f func()) { w.at(w.start.Add(d), f) }

func (w *Cluster) after(d time.Duration, f func()) { w.at(w.now.Add(d), f) }

func (w *Cluster) at(t time.Time, f func()) {
	if t.Before(w.now) {
		t = w.now
	}
	w.seq++
	heap.Push(&w.queue, timedCall{t, w.seq, f})
}

// Run runs the simulation until a time after the start or the first Violation.
func (w *Cluster) Run(until time.Duration) error {
	end := w.start.Add(until)
	for w.Next(end) {
	}
	done := len(w.queue) == 0 || w.queue[0].at.After(end)
	if w.audit.violation == nil && done && w.now.Before(end) {
		w.now = end
	}
	return w.Violation()
}

// Next executes the next event if it is due by end. It returns false if there is none or an
// invariant is violated.
func (w *Cluster) Next(end time.Time) bool {
	if w.audit.violation != nil || len(w.queue) == 0 || w.queue[0].at.After(end) {
		return false
	}
	if w.steps%1024 == 1023 && w.o.Stop != nil && w.o.Stop() {
		return false
	}
	e, ok := heap.Pop(&w.queue).(timedCall)
	if !ok {
		return false
	}
	w.now = e.at
	w.steps++
	e.f()
	return w.audit.violation == nil
}

// Violation returns the first violation, or nil.
func (w *Cluster) Violation() error {
	if w.audit.violation == nil {
		return nil
	}
	return w.audit.violation
}

// onCommit passes a commit to the reflectors and the audit.
func (w *Cluster) onCommit(c store.Change) {
	if c.Kind == store.Pods && c.New == nil {
		delete(w.compiled, c.Old.GetUID())
		delete(w.budgetPods, c.Old.GetUID())
	}
	w.countChange(c)
	if p, ok := c.Object().(*corev1.Pod); ok {
		w.replacer.trackDesired(p, c.New == nil)
	}
	w.affectedBudgets = w.budgetIndex.update(c.Kind, keyOf(c.Object()), c.New)
	w.audit.checkCommit(c)
	for _, r := range w.reflectors {
		r.observe(c)
	}
}

type timedCall struct {
	at  time.Time
	seq uint64
	f   func()
}

// eventHeap is a heap by time, then by order of arrival.
type eventHeap []timedCall

func (q eventHeap) Len() int      { return len(q) }
func (q eventHeap) Swap(i, j int) { q[i], q[j] = q[j], q[i] }
func (q *eventHeap) Push(x any)   { e, _ := x.(timedCall); *q = append(*q, e) }
func (q eventHeap) Less(i, j int) bool {
	if c := q[i].at.Compare(q[j].at); c != 0 {
		return c < 0
	}
	return q[i].seq < q[j].seq
}

func (q *eventHeap) Pop() any {
	last := len(*q) - 1
	e := (*q)[last]
	(*q)[last] = timedCall{}
	*q = (*q)[:last]
	return e
}

// model converts a pod, once per version.
func (w *Cluster) model(p *corev1.Pod) *model.Pod {
	if m := w.compiled[p.UID]; m != nil && m.ResourceVersion == p.ResourceVersion {
		return m
	}
	m := w.intake.Pod(p)
	w.compiled[p.UID] = m
	return m
}

// budgetPod returns what budgets read of a pod, once per version.
func (w *Cluster) budgetPod(p *corev1.Pod) *model.Pod {
	if m := w.budgetPods[p.UID]; m != nil && m.ResourceVersion == p.ResourceVersion {
		return m
	}
	m := conversion.BudgetPod(p)
	w.budgetPods[p.UID] = m
	return m
}
