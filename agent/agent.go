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
	"github.com/berthproject/berth/internal/conversion"
)

// Agent runs the pods of one or more nodes. Create it with New and start it with Run.
type Agent struct {
	opts    Options
	nodes   map[string]*node
	runtime runtime.Runtime
	ctx     context.Context // the context of Run

	podEvents    chan podEvent      // pod changes, in watch order
	nodeEvents   chan *corev1.Node  // node objects from the watch
	nodeReads    *mailbox[nodeRead] // results of readNode
	claims       *claimPoller
	claimsReady  chan types.UID // pods whose claims are bound
	reports      *mailbox[runtime.Report]
	evictions    *mailbox[Eviction]
	shutdowns    *mailbox[*nodeShutdown]
	writeResults chan writeResult
	writes       chan statusWrite
	// statusSlots limits concurrent registrations and status writes, leaseSlots concurrent Lease
	// renewals, so that thousands of nodes do not overload the API server. A Lease does not wait for
	// the registration of other nodes.
	statusSlots, leaseSlots chan struct{}

	converter *conversion.Converter
	state     *cluster.State // the nodes, and the pods that hold resources on them
	pods      map[types.UID]*pod
	boundPods atomic.Value // cache.Store of all pods bound to the nodes; set after the first sync
	// preemptors are the critical pods that wait for their victims to terminate.
	preemptors  map[types.UID]*pod
	static      *staticPods
	statusQueue []*pod // pods whose status may need a write
	timers      timers
}

// New validates the options and returns an agent that is not running yet.
func New(opts Options) (*Agent, error) {
	if len(opts.Nodes) == 0 {
		return nil, errors.New("agent: options.nodes: at least one node is required")
	}
	opts.setDefaults()
	a := &Agent{
		opts: opts, nodes: map[string]*node{},
		podEvents:  make(chan podEvent, 256),
		nodeEvents: make(chan *corev1.Node, 16), nodeReads: newMailbox[nodeRead](),
		reports: newMailbox[runtime.Report](), evictions: newMailbox[Eviction](), shutdowns: newMailbox[*nodeShutdown](),
		claims: newClaimPoller(opts.Client), claimsReady: make(chan types.UID, 256),
		writeResults: make(chan writeResult, 256), writes: make(chan statusWrite), statusSlots: make(chan struct{}, 20), leaseSlots: make(chan struct{}, 10),
		static:    newStaticPods(opts.StaticPods),
		converter: conversion.New(), state: cluster.New(), pods: map[types.UID]*pod{}, preemptors: map[types.UID]*pod{},
	}
	for i, manifest := range opts.Nodes {
		hasRuntime := hasContainerRuntime(manifest)
		manifest, err := completeManifest(manifest, i)
		if err != nil {
			return nil, err
		}
		if a.nodes[manifest.Name] != nil {
			return nil, fmt.Errorf("node %q: duplicate name", manifest.Name)
		}
		n := newNode(manifest, hasRuntime, i, &opts)
		if opts.Pressure != nil {
			n.pressure = opts.Pressure(manifest.Name)
		}
		a.nodes[manifest.Name] = n
		a.state.UpsertNode(a.converter.Node(manifest))
	}
	a.runtime = opts.Runtime(a.reports.put)
	return a, nil
}

// Run serves the nodes until ctx is done. Containers keep running after it returns.
func (a *Agent) Run(ctx context.Context) error {
	var wg sync.WaitGroup
	defer wg.Wait()
	a.ctx = ctx
	for _, n := range a.nodes {
		if n.localPodCIDR != "" && a.opts.PodCIDRTimeout > 0 {
			wg.Go(func() { a.waitForPodCIDR(ctx, n, n.localPodCIDR) })
		}
		wg.Go(func() {
			a.recordNodeStart(n)
			a.registerWithAPIServer(ctx, n)
			a.runHeartbeats(ctx, n)
		})
	}
	for range a.opts.StatusWriters {
		wg.Go(func() { a.runStatusWriter(ctx) })
	}
	wg.Go(func() { a.claims.run(ctx, a.claimsReady) })
	pods, nodes, err := a.startInformers(ctx, &wg)
	if err != nil {
		return err
	}
	a.loadAllocations()
	synced := make(chan struct{})
	wg.Go(func() {
		if cache.WaitForCacheSync(ctx.Done(), pods.HasSynced, nodes.HasSynced) {
			close(synced)
		}
	})
	if a.static.source == nil { // static pods run without the API server
		select {
		case <-synced:
		case <-ctx.Done():
			return nil
		}
	}
	a.syncLoop(ctx, synced, func() {
		a.boundPods.Store(pods.GetStore())
		a.restorePods(pods.GetStore().List(), nodes.GetStore().List())
	})
	return nil
}

// syncLoop is the only goroutine that accesses pods. It first waits for the static pods, for a limited time. It calls
// restore when the caches have synced, and processes changes from the API server only after that.
func (a *Agent) syncLoop(ctx context.Context, synced <-chan struct{}, restore func()) {
	if !a.awaitStaticPods(ctx) {
		return
	}
	var podEvents <-chan podEvent
	var nodeEvents <-chan *corev1.Node
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	var next *statusWrite
	for {
		if at, ok := a.timers.next(); ok {
			timer.Reset(time.Until(at))
		}
		var writers chan<- statusWrite // nil while there is nothing to write
		var w statusWrite
		if next == nil {
			next = a.nextWrite()
		}
		if next != nil {
			writers, w = a.writes, *next
		}
		select {
		case writers <- w:
			next = nil
		case <-ctx.Done():
			return
		case <-synced:
			restore()
			synced, podEvents, nodeEvents = nil, a.podEvents, a.nodeEvents
		case list := <-a.static.source:
			a.setStaticPods(list)
		case <-a.static.results.ready:
			a.static.results.each(a.handleMirrorWrite)
		case e := <-podEvents:
			a.handlePodEvent(e)
		case n := <-nodeEvents:
			a.handleNode(n)
		case <-a.nodeReads.ready:
			a.nodeReads.each(a.handleNodeRead)
		case uid := <-a.claimsReady:
			a.handleClaimsBound(uid)
		case <-a.reports.ready:
			a.reports.each(a.handleReport)
		case <-a.evictions.ready:
			a.evictions.each(a.evict)
		case <-a.shutdowns.ready:
			a.shutdowns.each(a.startShutdown)
		case w := <-a.writeResults:
			a.handleWriteResult(w)
		case <-timer.C:
			for _, key := range a.timers.due(time.Now()) {
				a.handleTimer(key)
			}
		}
	}
}
