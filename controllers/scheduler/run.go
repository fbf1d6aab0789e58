package scheduler

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"github.com/berthproject/berth/controllers/leaderelection"
	"github.com/berthproject/berth/engine/displacement"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/scheduling"
	"github.com/berthproject/berth/executor"
	"github.com/berthproject/berth/informers"
)

// ErrLeaseLost reports that another instance may lead; this one sends no more requests.
var ErrLeaseLost = errors.New("scheduler: the leader lease was lost")

// shutdownTimeout bounds how long an orderly shutdown waits for requests in flight.
const shutdownTimeout = 5 * time.Second

// scheduler is the state of one call of Run.
type scheduler struct {
	clock         clock.WithTicker
	o             Options
	log           *slog.Logger
	machine       *scheduling.Machine
	client        kubernetes.Interface
	leases        kubernetes.Interface
	source        *informers.Source
	pool          *executor.Pool
	events        *executor.Events
	metrics       *metrics
	decisions     *decisionCache
	journalWriter *journalWriter // nil: no journal
	// extenders is nil if there are none.
	extenders *executor.Extenders
	// queries are executed by the loop between two steps. They must not block.
	queries           chan func(*scheduling.Machine)
	queueSnapshot     cachedSnapshot[queueState]
	rejectionSnapshot cachedSnapshot[rejections]

	identity    string      // holder identity in Leases
	holdsServed atomic.Bool // Holds are served and may be read

	leading chan struct{} // closed when this instance leads
	lost    chan struct{} // closed when it no longer leads
	// stopSending cancels all requests immediately.
	stopSending context.CancelFunc
}

// Run schedules pods until ctx is done. It returns ErrLeaseLost if the lease is lost, and
// another error if it cannot start.
func Run(ctx context.Context, o Options) error {
	if err := o.Validate(); err != nil {
		return err
	}
	if o.Config == nil {
		return errors.New("scheduler: Config is required")
	}
	m, err := o.newMachine()
	if err != nil {
		return err
	}
	client, err := kubernetes.NewForConfig(clientConfig(o.Config))
	if err != nil {
		return err
	}
	leases := client
	if o.Election != nil {
		c := rest.CopyConfig(o.Config) // a separate connection: no queue of requests may delay a renewal
		c.QPS, c.Timeout = -1, o.Election.RenewDeadline/2
		if leases, err = kubernetes.NewForConfig(c); err != nil {
			return err
		}
	}
	s, err := newScheduler(o, m, client, leases)
	if err != nil {
		return err
	}
	if err := s.watchHolds(); err != nil {
		return err
	}
	return s.run(ctx)
}

// clientConfig returns the client configuration with the scheduler's defaults.
func clientConfig(c *rest.Config) *rest.Config {
	c = rest.CopyConfig(c)
	if c.QPS == 0 {
		c.QPS = -1
	}
	c.AcceptContentTypes = "application/vnd.kubernetes.protobuf,application/json"
	if c.ContentType == "" {
		c.ContentType = "application/vnd.kubernetes.protobuf"
	}
	if c.UserAgent == "" {
		c.UserAgent = "berth-scheduler"
	}
	return c
}

func newScheduler(o Options, m *scheduling.Machine, client, leases kubernetes.Interface) (*scheduler, error) {
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	s := &scheduler{clock: o.Clock, o: o, log: o.Log, machine: m, client: client, leases: leases, source: informers.New(client), metrics: newMetrics(o.profilesOrDefault(), o.Clock),
		decisions: newDecisionCache(), queueSnapshot: cachedSnapshot[queueState]{clock: o.Clock}, rejectionSnapshot: cachedSnapshot[rejections]{clock: o.Clock},
		queries: make(chan func(*scheduling.Machine)), identity: leaderelection.UniqueName(instanceName()), leading: make(chan struct{}), lost: make(chan struct{})}
	if o.Election != nil && o.Election.Identity != "" {
		s.identity = o.Election.Identity
	}
	s.metrics.registry.MustRegister(&rejectedCollector{s})
	if o.RegisterMetrics != nil {
		o.RegisterMetrics(s.metrics.registry)
	}
	s.metrics.setCaches(s.source.Conversions, s.decisions.usage)
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	s.journalWriter = newJournalWriter(o.Decisions, o.Clock, s.log)
	s.events = executor.NewEvents(client, instanceName(), o.Clock)
	s.metrics.registerDropped(s.events.Dropped)
	s.metrics.registerRecording(o.Inputs)
	err := o.Inputs.Start(o.Clock.Now(), o.machineOptions())
	if err != nil {
		return nil, fmt.Errorf("recording the scheduler's options: %w", err)
	}
	s.observeObjects()
	if s.extenders, err = executor.NewExtenders(client, o.Extenders, s.source.ConvertPod); err != nil {
		return nil, fmt.Errorf("configuring the scheduler's extenders: %w", err)
	}
	if s.extenders != nil {
		s.extenders.OnIgnoredError = s.onExtenderError
		s.metrics.scoring = s.extenders.Scoring
	}
	x := executor.New(executor.Options{Client: client, Timeout: o.RequestTimeout,
		ConvertPod: s.source.ConvertPod, PodScheduled: func(p *model.Pod) *corev1.PodCondition { return s.source.PodScheduled(p.UID) }, Events: s.events, Extenders: s.extenders, Now: o.Clock.Now, Observe: s.onExecuted,
		ConvertBudget: s.source.ConvertBudget, OnDebitForbidden: newDebitForbiddenHandler(s.metrics.registry, s.log), Journal: o.Journal, OnDisplaced: s.metrics.displacements.Count,
		OnRecordLost: func(kind string, err error) {
			s.log.Error("Failed to record the displacement of a victim", "kind", kind, "err", err)
		},
		OnUndoFailed: func(a displacement.Action, err error) {
			s.log.Error("Failed to undo a preemption", "action", fmt.Sprintf("%T", a), "err", err)
		}})
	s.pool = executor.NewPool(x, o.BindWorkers, func(out scheduling.Outcome) { s.source.Push(out) })
	s.events.SlowDownWhile(func() bool { return s.pool.Pending() > 0 })
	return s, nil
}

// onExecuted counts executed effects and logs failures.
func (s *scheduler) onExecuted(e scheduling.Effect, o scheduling.Outcome, duration time.Duration) {
	s.metrics.onExecuted(e, o, duration)
	now := s.clock.Now()
	s.decisions.onExecuted(now, e, o)
	if pod, ring := s.decisions.ringFor(e); ring != nil {
		s.journalWriter.add(trace{decided: now, pod: pod, effect: e, executed: now, result: o.Result, reason: o.Reason})
	}
	if o.Result == scheduling.Done {
		return
	}
	if b, ok := e.(scheduling.Bind); ok {
		s.log.Warn("Binding failed", "pod", b.Pod.Key(), "node", b.Node, "outcome", o.Result, "reason", o.Reason)
		return
	}
	s.log.Info("Request failed", "effect", fmt.Sprintf("%T", e), "outcome", o.Result, "reason", o.Reason)
}

func (s *scheduler) run(ctx context.Context) error {
	var wg sync.WaitGroup
	defer wg.Wait()
	// Requests outlive ctx briefly, and the lease outlives the requests.
	leaseCtx, releaseLease := context.WithCancel(context.WithoutCancel(ctx))
	defer releaseLease()
	var sendCtx context.Context
	sendCtx, s.stopSending = context.WithCancel(context.WithoutCancel(ctx))
	defer s.stopSending()
	informersCtx, stopInformers := context.WithCancel(ctx)
	defer stopInformers()

	if err := s.elect(leaseCtx, &wg); err != nil {
		return err
	}
	if err := s.startServer(informersCtx, &wg); err != nil {
		return err
	}
	if s.o.OnStart != nil {
		s.o.OnStart(s.metrics.livez)
	}
	for _, w := range s.o.Warnings {
		s.log.Warn("Configuration: " + w)
	}
	if s.journalWriter != nil {
		journalCtx, stopJournal := context.WithCancel(context.WithoutCancel(ctx)) // the journal ends after the requests
		defer stopJournal()
		wg.Go(func() { s.journalWriter.run(journalCtx) })
	}
	if s.o.Inputs != nil {
		recordCtx, stopRecording := context.WithCancel(context.WithoutCancel(ctx)) // the recording ends after the last step
		defer stopRecording()
		wg.Go(func() { s.o.Inputs.Run(recordCtx) })
	}
	wg.Go(func() { s.runInformers(informersCtx) })
	wg.Go(func() { s.advertiseHoldSupport(informersCtx) })
	sendingDone := make(chan struct{})
	go func() {
		var workers sync.WaitGroup
		workers.Go(func() { s.pool.Run(sendCtx) })
		workers.Go(func() { s.events.Run(sendCtx) })
		workers.Wait()
		close(sendingDone)
	}()
	err := s.loop(ctx, sendCtx)
	if err == nil {
		s.drain()
	}
	s.stopSending()
	<-sendingDone
	return err
}

// runInformers runs the informers and extenders. With DelayCache it first waits until this instance leads.
func (s *scheduler) runInformers(ctx context.Context) {
	if s.o.DelayCache {
		select {
		case <-s.leading:
		case <-ctx.Done():
			return
		}
	}
	var wg sync.WaitGroup
	wg.Go(func() { s.source.Run(ctx) })
	wg.Go(func() { s.extenders.Run(ctx) })
	wg.Wait()
}

// onExtenderError counts and logs an extender error that does not fail the pod.
func (s *scheduler) onExtenderError(extender, verb string, err error) {
	s.metrics.extenderFailed(extender, verb)
	s.log.Warn("Extender failed; ignored", "extender", extender, "err", err)
}

// drain waits for requests in flight, up to shutdownTimeout.
func (s *scheduler) drain() {
	deadline := s.clock.Now().Add(shutdownTimeout)
	for (s.pool.Pending() > 0 || s.events.Queued() > 0) && s.clock.Now().Before(deadline) {
		select {
		case <-s.lost:
			return
		case <-s.clock.After(10 * time.Millisecond):
		}
	}
}
