package agent

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berthproject/berth/agent/runtime"
)

// Agent serves the nodes of its options. Make it with New, start it with Run.
type Agent struct {
	opts    Options
	nodes   map[string]*node
	runtime runtime.Runtime

	seen     chan *corev1.Pod // changed pods of our nodes
	removed  chan types.UID
	claims   *claims
	ready    chan types.UID // pods whose claims are bound
	reports  *mailbox[runtime.Report]
	requests *mailbox[Eviction]
	written  chan written
	writes   chan write
	// gate lets thirty nodes register or renew at once, so that thousands do not
	// knock together and keep others out.
	gate chan struct{}

	pods   map[types.UID]*pod
	dirty  []*pod // whose status may have to be written
	timers timers
}

// New checks the options.
func New(opts Options) (*Agent, error) {
	if len(opts.Nodes) == 0 {
		return nil, errors.New("agent: no node to serve")
	}
	if opts.Writers == 0 {
		opts.Writers = 16
	}
	if opts.LeaseRenewal == 0 {
		opts.LeaseRenewal = leaseRenewal
	}
	a := &Agent{
		opts: opts, nodes: map[string]*node{},
		seen: make(chan *corev1.Pod, 256), removed: make(chan types.UID, 256), reports: newMailbox[runtime.Report](), requests: newMailbox[Eviction](),
		claims: newClaims(opts.Client), ready: make(chan types.UID, 256),
		written: make(chan written, 256), writes: make(chan write), gate: make(chan struct{}, 30),
		pods: map[types.UID]*pod{},
	}
	for i, want := range opts.Nodes {
		want, err := complete(want, i)
		if err != nil {
			return nil, err
		}
		if a.nodes[want.Name] != nil {
			return nil, fmt.Errorf("node %q is given twice", want.Name)
		}
		n := &node{want: want, news: make(chan struct{}, 1)}
		if opts.Pressure != nil {
			n.pressure = opts.Pressure(want.Name)
		}
		a.nodes[want.Name] = n
	}
	a.runtime = opts.Runtime(a.reports.put)
	return a, nil
}

// Run serves the nodes until ctx ends. Pods go on running.
func (a *Agent) Run(ctx context.Context) error {
	var wg sync.WaitGroup
	defer wg.Wait()
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
	informer, err := a.watch(ctx, &wg)
	if err != nil {
		return err
	}
	if !cache.WaitForCacheSync(ctx.Done(), informer.HasSynced) {
		return nil
	}
	a.loop(ctx)
	return nil
}

// watch follows the pods of our nodes: all pods when there are many nodes, just
// the node's own when there is one, which is what a node's credential may see.
func (a *Agent) watch(ctx context.Context, wg *sync.WaitGroup) (cache.SharedIndexInformer, error) {
	selector := fields.OneTermNotEqualSelector("spec.nodeName", "")
	if len(a.nodes) == 1 {
		for name := range a.nodes {
			selector = fields.OneTermEqualSelector("spec.nodeName", name)
		}
	}
	factory := informers.NewSharedInformerFactoryWithOptions(a.opts.Client, 0,
		informers.WithTweakListOptions(func(o *metav1.ListOptions) { o.FieldSelector = selector.String() }))
	informer := factory.Core().V1().Pods().Informer()
	_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(obj any) { a.see(ctx, obj) },
		UpdateFunc: func(_, obj any) { a.see(ctx, obj) },
		DeleteFunc: func(obj any) {
			if gone, ok := obj.(cache.DeletedFinalStateUnknown); ok {
				obj = gone.Obj
			}
			if p, ok := obj.(*corev1.Pod); ok && a.nodes[p.Spec.NodeName] != nil {
				select {
				case a.removed <- p.UID:
				case <-ctx.Done():
				}
			}
		},
	})
	if err != nil {
		return nil, err
	}
	factory.Start(ctx.Done())
	wg.Go(func() { <-ctx.Done(); factory.Shutdown() })
	return informer, nil
}

func (a *Agent) see(ctx context.Context, obj any) {
	p, ok := obj.(*corev1.Pod)
	if !ok || a.nodes[p.Spec.NodeName] == nil {
		return
	}
	select {
	case a.seen <- p:
	case <-ctx.Done():
	}
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
		case p := <-a.seen:
			a.changed(p)
		case uid := <-a.removed:
			a.vanished(uid)
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
		case w := <-a.written:
			a.wrote(w)
		case <-alarm.C:
			for _, uid := range a.timers.due(time.Now()) {
				if p := a.pods[uid]; p != nil {
					a.step(p)
				}
			}
		}
	}
}
