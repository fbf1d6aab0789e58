package agent

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"github.com/berthproject/berth/agent/runtime"
	"github.com/berthproject/berth/engine/cluster"
	"github.com/berthproject/berth/internal/intake"
)

// Agent serves the nodes of its options. Make it with New, start it with Run.
type Agent struct {
	opts    Options
	nodes   map[string]*node
	runtime runtime.Runtime
	ctx     context.Context // of Run

	seen      chan sighting     // changed pods of our nodes, in the order of the watch
	nodesSeen chan *corev1.Node // our nodes as the API has them
	looks     *mailbox[look]    // answers to who asked how a node is now
	claims    *claims
	ready     chan types.UID // pods whose claims are bound
	reports   *mailbox[runtime.Report]
	requests  *mailbox[Eviction]
	halts     *mailbox[*halt]
	written   chan written
	writes    chan write
	// gate lets thirty nodes register or renew at once, so that thousands do not
	// knock together and keep others out.
	gate chan struct{}

	intake *intake.Intake
	state  *cluster.State // our nodes, and the pods that take room there
	pods   map[types.UID]*pod
	bound  atomic.Value // cache.Store, of all pods that are bound to our nodes, once it is filled
	// waiting are the pods that wait for others to end.
	waiting map[types.UID]*pod
	dirty   []*pod // whose status may have to be written
	timers  timers
}

// New checks the options.
func New(opts Options) (*Agent, error) {
	if len(opts.Nodes) == 0 {
		return nil, errors.New("agent: no node to serve")
	}
	opts.complete()
	a := &Agent{
		opts: opts, nodes: map[string]*node{},
		seen:      make(chan sighting, 256),
		nodesSeen: make(chan *corev1.Node, 16), looks: newMailbox[look](),
		reports: newMailbox[runtime.Report](), requests: newMailbox[Eviction](), halts: newMailbox[*halt](),
		claims: newClaims(opts.Client), ready: make(chan types.UID, 256),
		written: make(chan written, 256), writes: make(chan write), gate: make(chan struct{}, 30),
		intake: intake.New(), state: cluster.New(), pods: map[types.UID]*pod{}, waiting: map[types.UID]*pod{},
	}
	for i, want := range opts.Nodes {
		real := isReal(want)
		want, err := complete(want, i)
		if err != nil {
			return nil, err
		}
		if a.nodes[want.Name] != nil {
			return nil, fmt.Errorf("node %q is given twice", want.Name)
		}
		n := &node{want: want, real: real, addresses: opts.Addresses, told: want.Status.Addresses, news: make(chan struct{}, 1)}
		if n.addresses == nil {
			n.addresses = func() []corev1.NodeAddress { return want.Status.Addresses }
		}
		if opts.Pressure != nil {
			n.pressure = opts.Pressure(want.Name)
		}
		a.nodes[want.Name] = n
		a.state.UpsertNode(a.intake.Node(want))
	}
	a.runtime = opts.Runtime(a.reports.put)
	return a, nil
}

// Run serves the nodes until ctx ends. Pods go on running.
func (a *Agent) Run(ctx context.Context) error {
	var wg sync.WaitGroup
	defer wg.Wait()
	a.ctx = ctx
	for _, n := range a.nodes {
		wg.Go(func() {
			a.enter(ctx, n)
			a.keep(ctx, n)
		})
	}
	for range a.opts.Writers {
		wg.Go(func() { a.writer(ctx) })
	}
	wg.Go(func() { a.claims.run(ctx, a.ready) })
	pods, nodes, err := a.watch(ctx, &wg)
	if err != nil {
		return err
	}
	if !cache.WaitForCacheSync(ctx.Done(), pods.HasSynced, nodes.HasSynced) {
		return nil
	}
	a.bound.Store(pods.GetStore())
	a.begin(pods.GetStore().List(), nodes.GetStore().List())
	a.loop(ctx)
	return nil
}

// loop owns all pods; nothing else touches them.
func (a *Agent) loop(ctx context.Context) {
	alarm := time.NewTimer(time.Hour)
	defer alarm.Stop()
	var first *write
	for {
		if at, ok := a.timers.first(); ok {
			alarm.Reset(time.Until(at))
		}
		var writers chan<- write // none while there is nothing to write
		var w write
		if first == nil {
			first = a.next()
		}
		if first != nil {
			writers, w = a.writes, *first
		}
		select {
		case writers <- w:
			first = nil
		case <-ctx.Done():
			return
		case s := <-a.seen:
			if s.gone {
				a.vanished(s.pod.UID)
			} else {
				a.changed(s.pod)
			}
		case n := <-a.nodesSeen:
			a.nodeChanged(n)
		case <-a.looks.ready:
			for _, l := range a.looks.take() {
				a.looked(l)
			}
		case uid := <-a.ready:
			a.claimsBound(uid)
		case <-a.reports.ready:
			for _, r := range a.reports.take() {
				a.reported(r)
			}
		case <-a.requests.ready:
			for _, e := range a.requests.take() {
				a.evict(e)
			}
		case <-a.halts.ready:
			for _, h := range a.halts.take() {
				a.stop(h)
			}
		case w := <-a.written:
			a.wrote(w)
		case <-alarm.C:
			for _, of := range a.timers.due(time.Now()) {
				a.rang(of)
			}
		}
	}
}
