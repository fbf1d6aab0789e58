package actuate

import (
	"context"
	"hash/maphash"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/scheduling"
	"github.com/berthproject/berth/internal/intake"
	"github.com/berthproject/berth/internal/journal"
)

// Options is what an Actuator needs.
type Options struct {
	Client  kubernetes.Interface
	Workers int           // how many requests may be under way
	Timeout time.Duration // of one request

	// Answer takes the outcomes; it must not block.
	Answer func(scheduling.Outcome)
	// Compile makes a model of a pod that was looked at.
	Compile func(*corev1.Pod) *model.Pod
	// Condition is a pending pod's PodScheduled condition, as last seen; nil when
	// it has none.
	Condition func(uid string) *corev1.PodCondition
	Events    *Events
	Extenders *Extenders // nil: none are asked
	Now       func() time.Time
	// Budget makes a model of a disruption budget that was looked at; nil: intake's.
	Budget func(*policyv1.PodDisruptionBudget) *model.Budget
	// NotDebited is told of budgets that may not be written; may be nil.
	NotDebited func(b *model.Budget, err error)
	// Observe is told of each effect that was carried out, and how long it took.
	Observe func(e scheduling.Effect, o scheduling.Outcome, took time.Duration)
	// Journal keeps the records of victims; nil: none does. Lost is told of lines that could not be
	// written; may be nil.
	Journal *journal.Journal
	Lost    func(what string, err error)
	// Count is told of each displacement once; see Displacer. May be nil.
	Count func(rec *journal.Displacement)
}

// Actuator carries out the effects of the scheduling machine.
type Actuator struct {
	o       Options
	seed    maphash.Seed
	queues  []chan scheduling.Effect
	asks    chan scheduling.Effect // of extenders, which may be slow: nothing else waits behind them
	pending atomic.Int64
	door    Displacer
}

// waitingEach is how many effects may wait for each worker.
const waitingEach = 64

// New makes an Actuator. Run must be called for anything to happen.
func New(o Options) *Actuator {
	if o.Budget == nil {
		o.Budget = intake.New().Budget
	}
	if o.NotDebited == nil {
		o.NotDebited = func(*model.Budget, error) {}
	}
	a := &Actuator{o: o, seed: maphash.MakeSeed(), queues: make([]chan scheduling.Effect, o.Workers),
		asks: make(chan scheduling.Effect, o.Workers*waitingEach),
		door: Displacer{Client: o.Client, Now: o.Now, Journal: o.Journal, Lost: o.Lost, Count: o.Count}}
	a.door.NotDebited = func(b *model.Budget, err error) { a.o.NotDebited(b, err) }
	if o.Events != nil {
		a.door.Instance = o.Events.instance
	}
	for i := range a.queues {
		a.queues[i] = make(chan scheduling.Effect, waitingEach)
	}
	return a
}

// Run works until the context ends, and returns when nothing is under way any more.
func (a *Actuator) Run(ctx context.Context) {
	var wg sync.WaitGroup
	for _, q := range a.queues {
		wg.Go(func() { a.work(ctx, q) })
		if a.o.Extenders != nil {
			wg.Go(func() { a.work(ctx, a.asks) })
		}
	}
	wg.Wait()
}

func (a *Actuator) work(ctx context.Context, q <-chan scheduling.Effect) {
	for {
		select {
		case <-ctx.Done():
			return
		case e := <-q:
			a.one(ctx, e)
		}
	}
}

// Do hands over effects. It waits while the workers are behind, or until the
// context ends.
func (a *Actuator) Do(ctx context.Context, effects []scheduling.Effect) {
	for _, e := range effects {
		q := a.queues[maphash.String(a.seed, podOf(e).UID)%uint64(len(a.queues))]
		if isAsk(e) && a.o.Extenders != nil {
			q = a.asks
		}
		a.pending.Add(1)
		select {
		case q <- e:
		case <-ctx.Done():
			return
		}
	}
}

// Pending is how many effects were handed over and not answered yet.
func (a *Actuator) Pending() int { return int(a.pending.Load()) }

// Room is how many more effects can be handed over without getting far behind.
func (a *Actuator) Room() int {
	return max(0, len(a.queues)*waitingEach/4-int(a.pending.Load()))
}

func (a *Actuator) one(ctx context.Context, e scheduling.Effect) {
	if ctx.Err() != nil {
		return
	}
	start := a.o.Now()
	bounded, cancel := context.WithTimeout(ctx, a.limitOf(e))
	defer cancel()
	var out scheduling.Outcome
	switch e := e.(type) {
	case scheduling.Bind:
		out = a.bind(bounded, e)
	case scheduling.Reject:
		out = a.reject(bounded, e)
	case scheduling.Hold:
		out = a.hold(bounded, e)
	case scheduling.Look:
		out = a.look(bounded, e)
	case scheduling.Prepare:
		out = a.prepare(bounded, e)
	case scheduling.Preempt:
		out = a.preempt(bounded, e)
	case scheduling.Unnominate:
		out = a.unnominate(bounded, e)
	case scheduling.Ask:
		out = a.o.Extenders.Ask(bounded, e)
	case scheduling.AskVictims:
		out = a.o.Extenders.AskVictims(bounded, e)
	case scheduling.Missed:
		out = a.missed(e)
	case scheduling.Bound:
		a.bound(e.Bind)
	}
	out.ID = e.EffectID()
	if a.o.Observe != nil {
		a.o.Observe(e, out, a.o.Now().Sub(start))
	}
	a.pending.Add(-1) // before the answer: who waits for room is woken by it
	a.o.Answer(out)
}

// isAsk says whether an effect is a question to extenders. One of a pod is the only
// effect of it under way, reports aside, so it needs no place in their order.
func isAsk(e scheduling.Effect) bool {
	switch e.(type) {
	case scheduling.Ask, scheduling.AskVictims:
		return true
	}
	return false
}

func podOf(e scheduling.Effect) *model.Pod {
	switch e := e.(type) {
	case scheduling.Bind:
		return e.Pod
	case scheduling.Reject:
		return e.Pod
	case scheduling.Hold:
		return e.Pod
	case scheduling.Look:
		return e.Pod
	case scheduling.Prepare:
		return e.Pod
	case scheduling.Preempt:
		return e.Pod
	case scheduling.Unnominate:
		return e.Pod
	case scheduling.Ask:
		return e.Pod
	case scheduling.AskVictims:
		return e.Pod
	case scheduling.Missed:
		return e.Pod
	case scheduling.Bound:
		return e.Pod
	}
	return &model.Pod{}
}
