package executor

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/berthproject/berth/engine/displacement"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/scheduling"
	"github.com/berthproject/berth/internal/contextlock"
	"github.com/berthproject/berth/internal/displacer"
	"github.com/berthproject/berth/internal/journal"
)

// Options configures an Executor.
type Options struct {
	Client  kubernetes.Interface
	Timeout time.Duration // per effect; preemptions and extenders may have more time

	// ConvertPod converts a pod that was read from the API server.
	ConvertPod func(*corev1.Pod) *model.Pod
	// PodScheduled returns the PodScheduled condition of a pending pod as last observed, or nil.
	PodScheduled func(*model.Pod) *corev1.PodCondition
	Events       *Events
	Extenders    *Extenders // nil: no extenders
	Now          func() time.Time
	// WithTimeout is context.WithTimeout by the clock of Now. Nil selects context.WithTimeout.
	WithTimeout func(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc)
	// NewLock returns an unlocked lock for a budget. Nil selects contextlock.New.
	NewLock func() contextlock.Lock
	// ConvertBudget converts a disruption budget that was read from the API server. Nil selects the default.
	ConvertBudget func(*policyv1.PodDisruptionBudget) *model.Budget
	// OnDebitForbidden is called with each budget whose update the API server forbids. It may be nil.
	OnDebitForbidden func(b *model.Budget, err error)
	// Observe is called after each effect, with its outcome and duration. It may be nil.
	Observe func(e scheduling.Effect, o scheduling.Outcome, duration time.Duration)
	// Journal stores the records of victims; nil disables it. OnRecordLost is called for each record that could not
	// be written. It may be nil.
	Journal      *journal.Journal
	OnRecordLost func(kind string, err error)
	// OnUndoFailed is called with each request that cannot undo a failed preemption. It may be nil.
	OnUndoFailed func(a displacement.Action, err error)
	// OnDisplaced is called once for each displacement; see Displacer. It may be nil.
	OnDisplaced func(rec *journal.Displacement)
}

// Executor executes the effects of the scheduling machine. It has no goroutine: a Pool calls it in production, and
// the simulator in coroutines.
type Executor struct {
	o         Options
	displacer displacer.Displacer
}

// New returns an Executor.
func New(o Options) *Executor {
	if o.WithTimeout == nil {
		o.WithTimeout = context.WithTimeout
	}
	locks := &displacer.BudgetLocks{New: o.NewLock}
	x := &Executor{o: o, displacer: displacer.Displacer{Client: o.Client, Now: o.Now, Journal: o.Journal, OnRecordLost: o.OnRecordLost, OnDisplaced: o.OnDisplaced,
		OnUndoFailed: o.OnUndoFailed, UndoTimeout: o.Timeout, WithTimeout: o.WithTimeout,
		OnDebitForbidden: o.OnDebitForbidden, ConvertBudget: o.ConvertBudget, LockBudget: locks.Lock}}
	if o.Events != nil {
		x.displacer.Instance = o.Events.instance
		x.displacer.OnEventRejected = func(error) { o.Events.dropped.Add(1) } // as any other event that cannot be written
	}
	return x
}

// Execute executes an effect and returns its outcome. It may be called concurrently, but the effects of one pod must
// be executed in order.
func (x *Executor) Execute(ctx context.Context, e scheduling.Effect) scheduling.Outcome {
	start := x.o.Now()
	bounded, cancel := x.o.WithTimeout(ctx, x.timeoutFor(e))
	defer cancel()
	out := x.dispatch(bounded, e)
	out.ID = e.EffectID()
	if x.o.Observe != nil {
		x.o.Observe(e, out, x.o.Now().Sub(start))
	}
	return out
}

func (x *Executor) dispatch(ctx context.Context, e scheduling.Effect) scheduling.Outcome {
	switch e := e.(type) {
	case scheduling.Bind:
		return x.bind(ctx, e)
	case scheduling.ReportUnschedulable:
		return x.reportUnschedulable(ctx, e)
	case scheduling.ReportGated:
		return x.reportGated(ctx, e)
	case scheduling.RefreshPod:
		return x.refreshPod(ctx, e)
	case scheduling.BindVolumes:
		return x.bindVolumes(ctx, e)
	case scheduling.Preempt:
		return x.preempt(ctx, e)
	case scheduling.ClearNomination:
		return x.clearNomination(ctx, e)
	case scheduling.CallExtenders:
		return x.o.Extenders.FilterAndPrioritize(ctx, e)
	case scheduling.CallPreemptionExtenders:
		return x.o.Extenders.ProcessPreemption(ctx, e)
	case scheduling.MissedWakeup:
		return x.recordMissedWakeup(e)
	case scheduling.ReportBound:
		x.recordBound(e.Bind)
	case scheduling.ReportDeferredResize:
		x.recordDeferredResize(e)
	}
	return scheduling.Outcome{}
}

// PodOf returns the pod of an effect.
func PodOf(e scheduling.Effect) *model.Pod {
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
