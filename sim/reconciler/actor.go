package reconciler

import (
	"context"
	"fmt"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/tools/cache"

	"github.com/berthproject/berth/api/v1alpha1"
	"github.com/berthproject/berth/controllers/runner"
	"github.com/berthproject/berth/sim"
	"github.com/berthproject/berth/sim/coroutine"
	"github.com/berthproject/berth/sim/kubeclient"
	"github.com/berthproject/berth/sim/store"
)

// actor runs the controllers of one process. It implements sim.Controller.
type actor struct {
	*sim.Client
	w            *sim.World
	kinds        []store.Kind
	setup        func(*Process) error
	process      *Process       // nil while it is killed or not synced
	nameSuffixes map[string]int // last suffix by the key being reconciled; survives restarts
}

// Process is the process that the controllers of an actor share. A restart of the actor creates another one.
type Process struct {
	runner.Process
	Holds    v1alpha1.Client
	Metadata metadata.Interface
	// Factory supplies the informers of Process.Informers, and informers of kinds for which
	// Process.Informers has no method.
	Factory *Factory
	// Quiet is the Quiet function of queues that are added later; see sim.WorkQueue. It may be nil.
	Quiet func() bool
	// OnChange is called for each change that is delivered, and OnStop when the process is killed. They may be nil.
	OnChange func(k store.Kind, old, current store.Object)
	OnStop   func()

	actor   *actor
	group   coroutine.Group
	queues  []*sim.WorkQueue[any]
	watches []*watches
}

// Start starts an actor that caches the kinds. setup adds its controllers to the process. At a start, controllers get
// the objects by kind, in the order of kinds.
func Start(w *sim.World, name string, setup func(*Process) error, kinds ...store.Kind) *sim.Client {
	a := &actor{w: w, kinds: kinds, setup: setup, nameSuffixes: map[string]int{}}
	a.Client = w.NewClient(name, a, kinds...)
	w.OnClose(a.OnStop)
	a.Start()
	return a.Client
}

// Started is the notice that a process starts. Tests of invariants insert defects into its clients.
type Started struct {
	Actor   string
	Clients *kubeclient.Clients
}

// OnSynced implements sim.Controller.
func (a *actor) OnSynced() {
	p := &Process{actor: a, Factory: newFactory(a.kinds)}
	a.process = p
	clients := kubeclient.New(a.w, a.Client, &p.group)
	a.w.Notify(Started{a.Name(), &clients})
	p.Holds, p.Metadata = clients.Holds, clients.Metadata
	p.Process = runner.Process{Client: clients.Kubernetes, Informers: p.Factory, Events: discardEvents{}, Queues: queues{p},
		Environment: NewEnvironment(a.w, &p.group, p.nameSuffix)}
	if err := a.setup(p); err != nil { // a programming error in the simulator
		panic(err)
	}
	for _, k := range a.kinds {
		for _, key := range a.Keys(k) {
			a.OnChange(k, nil, a.Cached(k)[key])
		}
	}
	p.Factory.cached = func(k store.Kind) (out []store.Object) {
		for _, key := range a.Keys(k) {
			out = append(out, a.Cached(k)[key])
		}
		return out
	}
}

// OnChange implements sim.Controller.
func (a *actor) OnChange(k store.Kind, old, current store.Object) {
	a.process.Factory.change(k, old, current)
	if a.process.OnChange != nil {
		a.process.OnChange(k, old, current)
	}
	for _, e := range a.process.watches {
		e.change(old, current)
	}
}

// OnStop implements sim.Controller.
func (a *actor) OnStop() {
	if a.process == nil {
		return
	}
	a.process.group.Kill()
	for _, q := range a.process.queues {
		q.Reset()
	}
	if a.process.OnStop != nil {
		a.process.OnStop()
	}
	a.process = nil
}

// Go runs a function in a coroutine of the process.
func (p *Process) Go(name string, f func()) { p.group.Go(name, f) }

// AtTime calls f at t unless the process is killed earlier.
func (p *Process) AtTime(t time.Time, f func()) { p.actor.AtTime(t, f) }

// Pod returns a pod of the actor's cache, or nil.
func (p *Process) Pod(key string) *corev1.Pod { return p.actor.Pod(key) }

// Stop stops the actor of the process for good. The running coroutine does not continue.
func (p *Process) Stop() { p.group.Wait(func(func()) { p.actor.Client.Stop() }) }

// queues implements runner.Queues. Each reconcile is a coroutine.
type queues struct{ p *Process }

// Add implements runner.Queues.
func (q queues) Add(o runner.QueueOptions, reconcile runner.ReconcileFunc[any]) func(any, time.Duration) {
	queue := sim.NewWorkQueue(q.p.actor.Client, o.Workers, func(key any, done func(time.Duration, error)) {
		q.p.group.Go(fmt.Sprint(o.Name, " ", key), func() { done(reconcile(context.Background(), key)) })
	})
	queue.Quiet = q.p.Quiet
	q.p.queues = append(q.p.queues, queue)
	return queue.Add
}

// WaitFor implements runner.Queues. The caches are filled before a process starts.
func (queues) WaitFor(...cache.InformerSynced) {}

// nameSuffix returns 1, 2 and so on for the objects that one owner creates.
func (p *Process) nameSuffix() string {
	owner := p.group.Name()
	p.actor.nameSuffixes[owner]++
	return strconv.Itoa(p.actor.nameSuffixes[owner])
}
