package scheduler

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/berthproject/berth/actuate"
	"github.com/berthproject/berth/engine/scheduling"
	"github.com/berthproject/berth/feed"
)

// ErrLeaseLost means that another copy may lead now; this one has stopped sending.
var ErrLeaseLost = errors.New("scheduler: the leader lease was lost")

// lastRequests is how long an orderly stop waits for what is under way.
const lastRequests = 5 * time.Second

// shell is one run.
type shell struct {
	o       Options
	log     *slog.Logger
	machine *scheduling.Machine
	client  kubernetes.Interface
	leases  kubernetes.Interface
	feed    *feed.Feed
	act     *actuate.Actuator
	events  *actuate.Events
	metrics *metrics
	trail   *trail
	history *history // nil: none is kept
	// extenders is nil when there are none.
	extenders *actuate.Extenders
	// questions are run by the loop, between steps; they must not wait for anything.
	questions chan func(*scheduling.Machine)
	waiting   snapshot[queued]
	rejected  snapshot[rejections]

	identity string      // in leases
	holds    atomic.Bool // Holds are served, and may be read

	leading chan struct{} // closed when this copy leads
	lost    chan struct{} // closed when it leads no more
	// stopSending gives up all requests, at once.
	stopSending context.CancelFunc
}

// Run schedules until the context ends (nil), the lease is lost (ErrLeaseLost),
// or it cannot start.
func Run(ctx context.Context, o Options) error {
	if err := o.Validate(); err != nil {
		return err
	}
	if o.Config == nil {
		return errors.New("scheduler: no API server is given")
	}
	m, err := o.machine()
	if err != nil {
		return err
	}
	client, err := kubernetes.NewForConfig(wire(o.Config))
	if err != nil {
		return err
	}
	leases := client
	if o.Election != nil {
		c := rest.CopyConfig(o.Config) // a connection of its own: no queue of requests may delay a renewal
		c.QPS, c.Timeout = -1, o.Election.RenewDeadline/2
		if leases, err = kubernetes.NewForConfig(c); err != nil {
			return err
		}
	}
	s, err := newShell(o, m, client, leases)
	if err != nil {
		return err
	}
	if err := s.readHolds(); err != nil {
		return err
	}
	return s.run(ctx)
}

// wire is the connection with what the scheduler needs of it.
func wire(c *rest.Config) *rest.Config {
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

func newShell(o Options, m *scheduling.Machine, client, leases kubernetes.Interface) (*shell, error) {
	s := &shell{o: o, log: o.Log, machine: m, client: client, leases: leases, feed: feed.New(client), metrics: newMetrics(o.profiles()),
		trail: newTrail(), questions: make(chan func(*scheduling.Machine)), identity: instance() + "_" + rand.String(8), leading: make(chan struct{}), lost: make(chan struct{})}
	if o.Election != nil && o.Election.Identity != "" {
		s.identity = o.Election.Identity
	}
	s.metrics.registry.MustRegister(&rejectedCollector{s})
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	s.history = newHistory(o.Decisions, s.log)
	s.events = actuate.NewEvents(client, instance(), time.Now)
	s.metrics.countDropped(s.events.Dropped)
	var err error
	if s.extenders, err = actuate.NewExtenders(client, o.Extenders, s.feed.Pod); err != nil {
		return nil, fmt.Errorf("scheduler: %w", err)
	}
	if s.extenders != nil {
		s.extenders.Failed = s.extenderFailed
		s.metrics.scoring = s.extenders.Scoring
	}
	s.act = actuate.New(actuate.Options{Client: client, Workers: o.BindWorkers, Timeout: o.RequestTimeout,
		Answer:  func(out scheduling.Outcome) { s.feed.Push(out) },
		Compile: s.feed.Pod, Condition: s.feed.Condition, Events: s.events, Extenders: s.extenders, Now: time.Now, Observe: s.observe,
		Budget: s.feed.Budget, NotDebited: notDebiting(s.metrics.registry, s.log), Journal: o.Journal, Count: s.metrics.displaced.Count,
		Lost: func(what string, err error) {
			s.log.Error("the displacement of a victim is not recorded", "where", what, "error", err)
		}})
	s.events.YieldTo(func() bool { return s.act.Pending() > 0 })
	return s, nil
}

// observe counts what was carried out and logs what was not.
func (s *shell) observe(e scheduling.Effect, o scheduling.Outcome, took time.Duration) {
	s.metrics.carriedOut(e, o, took)
	now := time.Now()
	s.trail.carriedOut(now, e, o)
	if pod, kept := s.trail.place(e); kept != nil {
		s.history.carriedOut(trace{at: now, pod: pod, effect: e, ended: now, result: o.Result, why: o.Why})
	}
	if o.Result == scheduling.Done {
		return
	}
	if b, ok := e.(scheduling.Bind); ok {
		s.log.Warn("a binding was not granted", "pod", b.Pod.Key(), "node", b.Node, "outcome", o.Result, "why", o.Why)
		return
	}
	s.log.Info("a request failed", "effect", fmt.Sprintf("%T", e), "outcome", o.Result, "why", o.Why)
}

func (s *shell) run(ctx context.Context) error {
	var wg sync.WaitGroup
	defer wg.Wait()
	// Requests outlive ctx by a moment, the lease outlives the requests.
	leaseCtx, releaseLease := context.WithCancel(context.WithoutCancel(ctx))
	defer releaseLease()
	var sendCtx context.Context
	sendCtx, s.stopSending = context.WithCancel(context.WithoutCancel(ctx))
	defer s.stopSending()
	feedCtx, stopFeed := context.WithCancel(ctx)
	defer stopFeed()

	if err := s.elect(leaseCtx, &wg); err != nil {
		return err
	}
	if err := s.serve(feedCtx, &wg); err != nil {
		return err
	}
	for _, w := range s.o.Warnings {
		s.log.Warn("configuration: " + w)
	}
	if s.history != nil {
		historyCtx, stopHistory := context.WithCancel(context.WithoutCancel(ctx)) // it ends after the requests
		defer stopHistory()
		wg.Go(func() { s.history.run(historyCtx) })
	}
	wg.Go(func() { s.follow(feedCtx) })
	wg.Go(func() { s.honour(feedCtx) })
	sending := make(chan struct{})
	go func() {
		var workers sync.WaitGroup
		workers.Go(func() { s.act.Run(sendCtx) })
		workers.Go(func() { s.events.Run(sendCtx) })
		workers.Wait()
		close(sending)
	}()
	err := s.loop(ctx, sendCtx)
	if err == nil {
		s.drain()
	}
	s.stopSending()
	<-sending
	return err
}

// follow follows the API; with DelayCache only once this copy leads.
func (s *shell) follow(ctx context.Context) {
	if s.o.DelayCache {
		select {
		case <-s.leading:
		case <-ctx.Done():
			return
		}
	}
	var wg sync.WaitGroup
	wg.Go(func() { s.feed.Run(ctx) })
	wg.Go(func() { s.extenders.Run(ctx) })
	wg.Wait()
}

// extenderFailed tells of a call to an extender that failed without failing a pod.
func (s *shell) extenderFailed(extender, verb string, err error) {
	s.metrics.extenderFailed(extender, verb)
	s.log.Warn("an extender failed and is passed over", "extender", extender, "why", err)
}

// drain waits for what is under way, but not for long.
func (s *shell) drain() {
	deadline := time.Now().Add(lastRequests)
	for (s.act.Pending() > 0 || s.events.Waiting() > 0) && time.Now().Before(deadline) {
		select {
		case <-s.lost:
			return
		case <-time.After(10 * time.Millisecond):
		}
	}
}
