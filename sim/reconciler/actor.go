package reconciler

import (
	"context"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

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

// Process is what the controllers of a process share. A restart creates another one.
type Process struct {
	// Client, Factory, Env and Events are the parameters of controllers.
	Client  kubernetes.Interface
	Factory *Factory
	Env     runner.Environment
	Events  Events

	actor  *actor
	group  coroutine.Group
	queues []*sim.WorkQueue
}

// Start starts an actor whose cache has the kinds. setup creates its controllers and passes them to Run. At a start,
// controllers get the objects by kind, in the order of kinds.
func Start(w *sim.World, name string, setup func(*Process) error, kinds ...store.Kind) {
	a := &actor{w: w, kinds: kinds, setup: setup, nameSuffixes: map[string]int{}}
	a.Client = w.NewClient(name, a, kinds...)
	w.OnClose(a.OnStop)
	a.Start()
}

// OnSynced implements sim.Controller.
func (a *actor) OnSynced() {
	p := &Process{actor: a, Factory: newFactory(a.Client)}
	a.process = p
	p.Client = kubeclient.New(a.w, a.Client, &p.group)
	p.Env = runner.Environment{WithTicker: virtualClock{w: a.w}, NameSuffix: p.nameSuffix, ForEach: p.group.ForEach}
	if err := a.setup(p); err != nil { // a programming error in the simulator
		panic(err)
	}
	for _, k := range a.kinds {
		for _, key := range a.Keys(k) {
			p.Factory.change(k, nil, a.Cached(k)[key])
		}
	}
}

// OnChange implements sim.Controller.
func (a *actor) OnChange(k store.Kind, old, current store.Object) {
	a.process.Factory.change(k, old, current)
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
	a.process = nil
}

// Run runs a controller of objects of a kind, such as "ReplicaSet".
func (p *Process) Run(kind string, c runner.Controller) error {
	queue := sim.NewWorkQueue(p.actor.Client, func(key string, done func(time.Duration, error)) {
		p.group.Go(kind+" "+key, func() { done(c.Reconcile(context.Background(), parseKey(key))) })
	})
	p.queues = append(p.queues, queue)
	return c.Watch(func(key types.NamespacedName) { queue.Add(store.Key(key.Namespace, key.Name), 0) })
}

// parseKey is the inverse of store.Key.
func parseKey(key string) types.NamespacedName {
	namespace, name, _ := cache.SplitMetaNamespaceKey(key)
	return types.NamespacedName{Namespace: namespace, Name: name}
}

// nameSuffix returns 1, 2 and so on for the objects that one owner creates.
func (p *Process) nameSuffix() string {
	owner := p.group.Name()
	p.actor.nameSuffixes[owner]++
	return strconv.Itoa(p.actor.nameSuffixes[owner])
}
