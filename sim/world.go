package sim

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
	"github.com/berthproject/berth/engine/placement"
	"github.com/berthproject/berth/engine/podgc"
	"github.com/berthproject/berth/engine/preemption"
	"github.com/berthproject/berth/engine/scheduling"
	"github.com/berthproject/berth/engine/scheduling/profiles"
	"github.com/berthproject/berth/engine/tainteviction"
	"github.com/berthproject/berth/internal/conversion"
	"github.com/berthproject/berth/sim/store"
)

// Options of a World.
type Options struct {
	Start time.Time // zero: 2026-01-01 00:00 UTC
	Seed  uint64    // of faults
	// Machine is the scheduler's policy; its Profiles are made of those below.
	Machine  scheduling.Config
	Profiles []*placement.Profile
	// TieBreakSeed is the scheduler's seed, ViewMemory what its views may take (0: the default).
	TieBreakSeed     uint64
	ScoreCacheMemory int
	Preemption       preemption.Options
	// Taints and NodeHealth are the policies of who evicts pods from nodes.
	Taints     tainteviction.Options
	NodeHealth nodelifecycle.Options
	// TaintEvictionsSkipBudgets has evictions by taint recorded in no budget, as upstream's are.
	TaintEvictionsSkipBudgets bool
	GC                        podgc.Options
	// Pressure is what nodes go by of which something is scripted to be used, Reserve what
	// their disks keep free.
	Pressure nodepressure.Config
	Reserve  nodepressure.DiskReserveConfig
	// AvoidHolds is how long Avoid Holds last; First 0: there are none. NoPause has workloads replace
	// pods that die on the spot at once, as upstream's ReplicaSets do.
	AvoidHolds         enginedisplacement.Backoff
	NoReplacementDelay bool
	// Evictions are the rules of evictions by request. KeepFailedDebits leaves what an
	// eviction took from budgets where it is when the pod does not go after all.
	Evictions        budget.Evictions
	KeepFailedDebits bool
	// Descheduler has a descheduler; nil: there is none. KnowsNoHolds has the scheduler place pods as one that
	// has never heard of Holds.
	Descheduler *DeschedulerOptions
	IgnoreHolds bool
	// Endpoints has EndpointSlices kept, which nothing else here reads.
	Endpoints bool
	// Latency is what a request takes to the API server, and its answer back.
	Latency time.Duration
	// Lag is what a watch is behind.
	Lag    time.Duration
	Faults Faults
	// DecisionsPerStep is how many the scheduler makes in a step; 64 when 0.
	DecisionsPerStep int
	// Audit checks what must always hold; without it only NeverMoves is.
	Audit bool
	// OnLine is given the timeline; may be nil.
	OnLine func(Line)
	// Stop is asked now and then whether to end at once; may be nil.
	Stop func() bool
	// Record is given what the scheduler's machine was fed and what it answered;
	// may be nil. What it is given is valid during the call.
	Record func(*Step)
}

// MachineConfig returns the machine's policy with the profiles in it.
func (o *Options) MachineConfig() scheduling.Config {
	c := o.Machine
	c.Profiles = nil
	for _, p := range o.Profiles {
		by := profiles.Options{Seed: o.TieBreakSeed, CacheBytes: o.ScoreCacheMemory / len(o.Profiles), Preemption: o.Preemption}
		c.Profiles = append(c.Profiles, profiles.NewWithOptions(p, by))
	}
	return c
}

// World is a cluster under virtual time. Make it with New.
type World struct {
	o     Options
	now   time.Time
	start time.Time
	queue eventHeap
	seq   uint64
	steps int // things that happened

	api             *store.Store
	intake          *conversion.Converter // of the actors
	compiled        map[types.UID]*model.Pod
	budgetPods      map[types.UID]*model.Pod
	budgetIndex     *budgetIndex // as the store has it
	affectedBudgets []string     // budgets that the last commit concerned
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
	endpoints       *endpoints   // nil without
	descheduler     *descheduler // nil without
	returns         *returnCounter
	audit           *audit
	counts          Counts
}

// New returns an empty cluster with its control plane running.
func New(o Options) *World {
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
	w := &World{o: o, now: o.Start, start: o.Start, intake: conversion.New(), compiled: map[types.UID]*model.Pod{}, budgetPods: map[types.UID]*model.Pod{}, budgetIndex: newBudgetIndex()}
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

// API returns the simulated API server. What is written to it is noticed by the
// actors as a real write would be.
func (w *World) API() *store.Store { return w.api }

// Now returns the virtual time, and Elapsed that since the start.
func (w *World) Now() time.Time { return w.now }

// Elapsed returns the virtual time since the start.
func (w *World) Elapsed() time.Duration { return w.now.Sub(w.start) }

// Steps returns how many things happened so far.
func (w *World) Steps() int { return w.steps }

// Machine returns the scheduler's, as it is now; nil while it is down.
func (w *World) Machine() *scheduling.Machine { return w.scheduler.machine }

// At has something done at a time after the start, after all that was
// scheduled before for the same time.
func (w *World) At(d time.Duration, f func()) { w.at(w.start.Add(d), f) }

func (w *World) after(d time.Duration, f func()) { w.at(w.now.Add(d), f) }

func (w *World) at(t time.Time, f func()) {
	if t.Before(w.now) {
		t = w.now
	}
	w.seq++
	heap.Push(&w.queue, timedCall{t, w.seq, f})
}

// Run lets everything happen until the given time after the start. It ends at once
// with the first Violation.
func (w *World) Run(until time.Duration) error {
	end := w.start.Add(until)
	for w.Next(end) {
	}
	done := len(w.queue) == 0 || w.queue[0].at.After(end)
	if w.audit.violation == nil && done && w.now.Before(end) {
		w.now = end
	}
	return w.Violation()
}

// Next lets the next thing happen, if it is due by end. False when there is none,
// or what must hold does not.
func (w *World) Next(end time.Time) bool {
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

// Violation returns what did not hold, nil when all did.
func (w *World) Violation() error {
	if w.audit.violation == nil {
		return nil
	}
	return w.audit.violation
}

// onCommit tells readers and the audit of a commit.
func (w *World) onCommit(c store.Change) {
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

// model compiles a pod, once for each version of it.
func (w *World) model(p *corev1.Pod) *model.Pod {
	if m := w.compiled[p.UID]; m != nil && m.ResourceVersion == p.ResourceVersion {
		return m
	}
	m := w.intake.Pod(p)
	w.compiled[p.UID] = m
	return m
}

// budgetPod returns what budgets read of a pod, made once for each version of it.
func (w *World) budgetPod(p *corev1.Pod) *model.Pod {
	if m := w.budgetPods[p.UID]; m != nil && m.ResourceVersion == p.ResourceVersion {
		return m
	}
	m := conversion.BudgetPod(p)
	w.budgetPods[p.UID] = m
	return m
}
