package executor

import (
	"context"
	"hash/maphash"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/berthproject/berth/engine/displacement"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/scheduling"
	"github.com/berthproject/berth/internal/displacer"
	"github.com/berthproject/berth/internal/journal"
)

// Options configures an Executor.
type Options struct {
	Client  kubernetes.Interface
	Workers int           // number of concurrent requests
	Timeout time.Duration // per request

	// OnOutcome receives the outcomes. It must not block.
	OnOutcome func(scheduling.Outcome)
	// ConvertPod converts a pod that was read from the API server.
	ConvertPod func(*corev1.Pod) *model.Pod
	// PodScheduled returns the PodScheduled condition of a pending pod as last observed, or nil.
	PodScheduled func(uid string) *corev1.PodCondition
	Events       *Events
	Extenders    *Extenders // nil: no extenders
	Now          func() time.Time
	// ConvertBudget converts a disruption budget that was read from the API server. Nil selects the default.
	ConvertBudget func(*policyv1.PodDisruptionBudget) *model.Budget
	// OnDebitForbidden is called with each budget whose update the API server forbids. It may be nil.
	OnDebitForbidden func(b *model.Budget, err error)
	// Observe is called after each effect, with its outcome and duration. It may be nil.
	Observe func(e scheduling.Effect, o scheduling.Outcome, duration time.Duration)
	// Journal stores the records of victims; nil disables it. OnRecordLost is called with records that could not be
	// written. It may be nil.
	Journal      *journal.Journal
	OnRecordLost func(kind string, err error)
	// OnUndoFailed is called with each request that cannot undo a failed preemption. It may be nil.
	OnUndoFailed func(a displacement.Action, err error)
	// OnDisplaced is called once for each displacement; see Displacer. It may be nil.
	OnDisplaced func(rec *journal.Displacement)
}

// Executor executes the effects of the scheduling machine.
type Executor struct {
	o             Options
	seed          maphash.Seed
	queues        []chan scheduling.Effect
	extenderQueue chan scheduling.Effect // calls to extenders, which may be slow, have a separate queue
	pending       atomic.Int64
	displacer     displacer.Displacer
}

// queuedPerWorker is the queue length of each worker.
const queuedPerWorker = 64

// New returns an Executor. It does nothing until Run is called.
func New(o Options) *Executor {
	x := &Executor{o: o, seed: maphash.MakeSeed(), queues: make([]chan scheduling.Effect, o.Workers),
		extenderQueue: make(chan scheduling.Effect, o.Workers*queuedPerWorker),
		displacer: displacer.Displacer{Client: o.Client, Now: o.Now, Journal: o.Journal, OnRecordLost: o.OnRecordLost, OnDisplaced: o.OnDisplaced,
			OnUndoFailed: o.OnUndoFailed, UndoTimeout: o.Timeout,
			OnDebitForbidden: o.OnDebitForbidden, ConvertBudget: o.ConvertBudget, LockBudget: new(displacer.BudgetLocks).Lock}}
	if o.Events != nil {
		x.displacer.Instance = o.Events.instance
		x.displacer.OnEventRejected = func(error) { o.Events.dropped.Add(1) } // as any other event that cannot be written
	}
	for i := range x.queues {
		x.queues[i] = make(chan scheduling.Effect, queuedPerWorker)
	}
	return x
}

// Run executes effects until ctx is done and all requests have returned.
func (x *Executor) Run(ctx context.Context) {
	var wg sync.WaitGroup
	for _, q := range x.queues {
		wg.Go(func() { x.worker(ctx, q) })
		if x.o.Extenders != nil {
			wg.Go(func() { x.worker(ctx, x.extenderQueue) })
		}
	}
	wg.Wait()
}

func (x *Executor) worker(ctx context.Context, q <-chan scheduling.Effect) {
	for {
		select {
		case <-ctx.Done():
			return
		case e := <-q:
			x.execute(ctx, e)
		}
	}
}

// Submit enqueues effects. It blocks while the queues are full, until ctx is done.
func (x *Executor) Submit(ctx context.Context, effects []scheduling.Effect) {
	for _, e := range effects {
		q := x.queues[maphash.String(x.seed, podOf(e).UID)%uint64(len(x.queues))]
		if isExtenderCall(e) && x.o.Extenders != nil {
			q = x.extenderQueue
		}
		x.pending.Add(1)
		select {
		case q <- e:
		case <-ctx.Done():
			x.pending.Add(-1)
			return
		}
	}
}

// Pending returns how many effects have no outcome yet.
func (x *Executor) Pending() int { return int(x.pending.Load()) }

// Capacity returns how many more effects can be submitted before queues build up a backlog.
func (x *Executor) Capacity() int {
	return max(0, len(x.queues)*queuedPerWorker/4-int(x.pending.Load()))
}

func (x *Executor) execute(ctx context.Context, e scheduling.Effect) {
	if ctx.Err() != nil {
		return
	}
	start := x.o.Now()
	bounded, cancel := context.WithTimeout(ctx, x.timeoutFor(e))
	defer cancel()
	var out scheduling.Outcome
	switch e := e.(type) {
	case scheduling.Bind:
		out = x.bind(bounded, e)
	case scheduling.ReportUnschedulable:
		out = x.reportUnschedulable(bounded, e)
	case scheduling.ReportGated:
		out = x.reportGated(bounded, e)
	case scheduling.RefreshPod:
		out = x.refreshPod(bounded, e)
	case scheduling.BindVolumes:
		out = x.bindVolumes(bounded, e)
	case scheduling.Preempt:
		out = x.preempt(bounded, e)
	case scheduling.ClearNomination:
		out = x.clearNomination(bounded, e)
	case scheduling.CallExtenders:
		out = x.o.Extenders.FilterAndPrioritize(bounded, e)
	case scheduling.CallPreemptionExtenders:
		out = x.o.Extenders.ProcessPreemption(bounded, e)
	case scheduling.MissedWakeup:
		out = x.recordMissedWakeup(e)
	case scheduling.ReportBound:
		x.recordBound(e.Bind)
	case scheduling.ReportDeferredResize:
		x.recordDeferredResize(e)
	}
	out.ID = e.EffectID()
	if x.o.Observe != nil {
		x.o.Observe(e, out, x.o.Now().Sub(start))
	}
	x.pending.Add(-1) // before OnOutcome, which may wake a caller that waits for capacity
	x.o.OnOutcome(out)
}

// isExtenderCall reports whether an effect calls extenders. Apart from reports it is the only effect of its pod in
// flight, so it needs no ordering with other effects.
func isExtenderCall(e scheduling.Effect) bool {
	switch e.(type) {
	case scheduling.CallExtenders, scheduling.CallPreemptionExtenders:
		return true
	}
	return false
}

func podOf(e scheduling.Effect) *model.Pod {
	switch e := e.(type) {
	case scheduling.Bind:
		return e.Pod
	case scheduling.ReportUnschedulable:
		return e.Pod
	case scheduling.ReportGated:
		return e.Pod
	case scheduling.RefreshPod:
		return e.Pod
	case scheduling.BindVolumes:
		return e.Pod
	case scheduling.Preempt:
		return e.Pod
	case scheduling.ClearNomination:
		return e.Pod
	case scheduling.CallExtenders:
		return e.Pod
	case scheduling.CallPreemptionExtenders:
		return e.Pod
	case scheduling.MissedWakeup:
		return e.Pod
	case scheduling.ReportBound:
		return e.Pod
	case scheduling.ReportDeferredResize:
		return e.Pod
	}
	return &model.Pod{}
}
