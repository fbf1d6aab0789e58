package informers

import (
	"context"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"github.com/berthproject/berth/api/v1alpha1"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/scheduling"
	"github.com/berthproject/berth/internal/conversion"
)

// Source collects events until they are taken.
type Source struct {
	client    kubernetes.Interface
	holds     *v1alpha1.Client // nil: no holds
	onServed  func(kind string, served bool)
	onPod     func(*corev1.Pod) // is shown all pods, also finished ones; nil: those are left out
	onNode    func(*corev1.Node)
	converter *conversion.Converter

	mu         sync.Mutex
	events     []scheduling.Event
	unsynced   []string                        // kinds not listed yet
	served     map[string]bool                 // whether optional kinds are served, as was told
	conditions map[string]*corev1.PodCondition // of pods without a node, by uid

	ready  chan struct{}
	synced chan struct{}
}

// New makes a feed from an API server.
func New(client kubernetes.Interface) *Source {
	f := &Source{client: client, converter: conversion.New(), conditions: map[string]*corev1.PodCondition{}, served: map[string]bool{},
		ready: make(chan struct{}, 1), synced: make(chan struct{})}
	for _, k := range f.kinds() {
		f.unsynced = append(f.unsynced, k.name)
	}
	return f
}

// WatchHolds has holds read, too, where they are served and may be read. It must be called
// before Run.
func (f *Source) WatchHolds(client *v1alpha1.Client) {
	f.holds = client
	f.unsynced = append(f.unsynced, v1alpha1.HoldsResource)
}

// OnServed has f called for each optional kind as soon as it is known whether it is served and
// may be read, and when that changes, from a goroutine of its own. It must be called before Run.
func (f *Source) OnServed(onServed func(kind string, served bool)) { f.onServed = onServed }

// ObserveObjects has each pod and node that comes or changes shown before its event, from goroutines of their own. Finished pods
// are read then, too. It must be called before Run.
func (f *Source) ObserveObjects(pod func(*corev1.Pod), node func(*corev1.Node)) {
	f.onPod, f.onNode = pod, node
}

// Run lists and watches until the context ends.
func (f *Source) Run(ctx context.Context) {
	var wg sync.WaitGroup
	for _, k := range f.kinds() {
		wg.Go(func() { f.runReflector(ctx, k) })
	}
	for groupVersion, kinds := range f.optionalKinds() {
		for _, k := range kinds {
			wg.Go(func() { f.runWhenServed(ctx, groupVersion, k) })
		}
	}
	wg.Wait()
}

// runReflector lists and watches one kind until the context ends.
func (f *Source) runReflector(ctx context.Context, k kind) {
	l := &eventStore{source: f, kind: k, objects: map[string]entry{}}
	lw := cache.ToListWatcherWithWatchListSemantics(&cache.ListWatch{ListWithContextFunc: k.list, WatchFuncWithContext: k.watch}, f.client)
	cache.NewReflectorWithOptions(lw, k.object, l, cache.ReflectorOptions{Name: "feed/" + k.name}).RunWithContext(ctx)
}

// setServed tells whether an optional kind is served, if that is news; nobody waits for one that
// is not.
func (f *Source) setServed(kind string, served bool) {
	f.mu.Lock()
	was, said := f.served[kind]
	f.served[kind] = served
	f.mu.Unlock()
	if f.onServed != nil && (!said || was != served) {
		f.onServed(kind, served)
	}
	if !served {
		f.markListed(kind)
	}
}

// Synced is closed when every kind was listed once, but ResourceClaims, and holds where
// there are none.
func (f *Source) Synced() <-chan struct{} { return f.synced }

// Unsynced names the kinds that were not listed yet.
func (f *Source) Unsynced() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.unsynced)
}

// Ready receives after events came that were not taken yet.
func (f *Source) Ready() <-chan struct{} { return f.ready }

// Push appends events of other origin, such as outcomes. It never blocks.
func (f *Source) Push(events ...scheduling.Event) {
	f.mu.Lock()
	f.events = append(f.events, events...)
	f.mu.Unlock()
	select {
	case f.ready <- struct{}{}:
	default:
	}
}

// Take hands over what has come. The slice given is used for what comes next.
func (f *Source) Take(next []scheduling.Event) []scheduling.Event {
	clear(next)
	f.mu.Lock()
	defer f.mu.Unlock()
	out := f.events
	f.events = next[:0]
	return out
}

// ConvertPod compiles a pod that was read apart from the watch.
func (f *Source) ConvertPod(p *corev1.Pod) *model.Pod { return f.converter.Pod(p) }

// ConvertBudget compiles a disruption budget that was read apart from the watch.
func (f *Source) ConvertBudget(b *policyv1.PodDisruptionBudget) *model.Budget {
	return f.converter.Budget(b)
}

// PodScheduled is the PodScheduled condition of a pod without a node, as last
// seen; nil when it has none.
func (f *Source) PodScheduled(uid string) *corev1.PodCondition {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.conditions[uid]
}

// noteCondition keeps or drops a pod's condition.
func (f *Source) noteCondition(p *corev1.Pod) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.conditions, string(p.UID))
	if p.Spec.NodeName != "" {
		return
	}
	for i := range p.Status.Conditions {
		if c := p.Status.Conditions[i]; c.Type == corev1.PodScheduled {
			f.conditions[string(p.UID)] = &c
			return
		}
	}
}

func (f *Source) forgetCondition(uid string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.conditions, uid)
}

// markListed takes a kind off the list of those waited for.
func (f *Source) markListed(kind string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	i := slices.Index(f.unsynced, kind)
	if i < 0 {
		return
	}
	f.unsynced = slices.Delete(f.unsynced, i, i+1)
	if len(f.unsynced) == 0 {
		close(f.synced)
	}
}
