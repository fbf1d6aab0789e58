package agent

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

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
	env     *Environment
	nodes   map[string]*node
	runtime runtime.Runtime
	ctx     context.Context // the context of Run or Start
	started atomic.Bool     // Start has set ctx
	tasks   *tasks
	inbox   inbox
	awake   chan struct{} // capacity 1: runLoop has something to process
	claims  *claimPoller
	// nodeWrites limits concurrent registrations and status writes of nodes, leaseWrites concurrent Lease renewals, so
	// that thousands of nodes do not overload the API server. A Lease does not wait for the registration of other nodes.
	nodeWrites, leaseWrites *limiter

	converter *conversion.Converter
	state     *cluster.State // the nodes, and the pods that hold resources on them
	pods      map[types.UID]*pod
	boundPods atomic.Value // cache.Store of all pods bound to the nodes; set after the first sync
	// preemptors are the critical pods that wait for their victims to terminate.
	preemptors   map[types.UID]*pod
	static       *staticPods
	restored     bool   // the pods that existed at the start are known
	statusQueue  []*pod // pods whose status may need a write
	statusWrites int    // in flight
	timers       timers
}

// New validates the options and returns an agent that is not running yet.
func New(opts Options) (*Agent, error) {
	if len(opts.Nodes) == 0 {
		return nil, errors.New("agent: options.nodes: at least one node is required")
	}
	opts.setDefaults()
	a := &Agent{opts: opts, env: opts.Environment, nodes: map[string]*node{}, awake: make(chan struct{}, 1), static: newStaticPods(opts.StaticPods),
		converter: conversion.New(), state: cluster.New(), pods: map[types.UID]*pod{}, preemptors: map[types.UID]*pod{}}
	if a.inbox.wake = a.env.Wake; a.inbox.wake == nil {
		a.inbox.wake = a.wakeLoop
	}
	a.tasks = &tasks{env: a.env}
	a.nodeWrites, a.leaseWrites = newLimiter(a.tasks, concurrentNodeWrites), newLimiter(a.tasks, concurrentLeaseWrites)
	a.claims = newClaimPoller(a)
	for i, manifest := range opts.Nodes {
		hasRuntime := hasContainerRuntime(manifest)
		manifest, err := completeManifest(manifest, i)
		if err != nil {
			return nil, err
		}
		if a.nodes[manifest.Name] != nil {
			return nil, fmt.Errorf("node %q: duplicate name", manifest.Name)
		}
		n := a.newNode(manifest, hasRuntime, i)
		if opts.Pressure != nil {
			n.pressure = opts.Pressure(manifest.Name)
		}
		a.nodes[manifest.Name] = n
		a.state.UpsertNode(a.converter.Node(manifest))
	}
	a.runtime = opts.Runtime(func(r runtime.Report) { a.inbox.post(func() { a.handleReport(r) }) })
	return a, nil
}

const (
	concurrentNodeWrites  = 20
	concurrentLeaseWrites = 10
)

// Run serves the nodes until ctx is done. Containers keep running after it returns.
func (a *Agent) Run(ctx context.Context) error {
	defer a.tasks.stop()
	a.Start(ctx)
	pods, nodes, err := a.startInformers(ctx)
	if err != nil {
		return err
	}
	waitForSync := func() bool { return cache.WaitForCacheSync(ctx.Done(), pods.HasSynced, nodes.HasSynced) }
	restore := func() {
		a.boundPods.Store(pods.GetStore())
		a.Restore(objects[*corev1.Pod](pods.GetStore()), objects[*corev1.Node](nodes.GetStore()))
	}
	if a.static.source == nil {
		if !waitForSync() {
			return nil
		}
		restore()
	} else { // static pods run without the API server
		if !a.awaitStaticPods(ctx) {
			return nil
		}
		a.tasks.start(func() { a.forwardStaticPods(ctx) })
		a.tasks.start(func() {
			if waitForSync() {
				a.inbox.post(restore)
			}
		})
	}
	a.runLoop(ctx)
	return nil
}

// Start starts the heartbeats of the nodes, which end when ctx is done.
func (a *Agent) Start(ctx context.Context) {
	a.ctx = ctx
	a.started.Store(true)
	a.loadAllocations()
	for _, n := range a.nodes {
		a.recordNodeStart(n)
		if !a.opts.DeferStatus {
			n.status.Trigger()
		}
		if n.localPodCIDR != "" && a.opts.PodCIDRTimeout > 0 {
			n.cidrChoice.Schedule(a.opts.PodCIDRTimeout)
		}
	}
}
