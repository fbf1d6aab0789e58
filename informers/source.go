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
	onPod     func(*corev1.Pod) // receives all pods, including finished ones; nil: finished pods are not watched
	onNode    func(*corev1.Node)
	converter *conversion.Converter

	mu         sync.Mutex
	events     []scheduling.Event
	unsynced   []string                        // kinds that are not listed yet
	served     map[string]bool                 // last reported state of optional kinds
	conditions map[string]*corev1.PodCondition // of pending pods, by UID

	ready  chan struct{}
	synced chan struct{}
}

// New returns a Source for an API server.
func New(client kubernetes.Interface) *Source {
	f := &Source{client: client, converter: conversion.New(), conditions: map[string]*corev1.PodCondition{}, served: map[string]bool{},
		ready: make(chan struct{}, 1), synced: make(chan struct{})}
	for _, k := range f.kinds() {
		f.unsynced = append(f.unsynced, k.name)
	}
	return f
}

// WatchHolds makes the source watch Holds, if they are served and may be read. It must be called
// before Run.
func (f *Source) WatchHolds(client *v1alpha1.Client) {
	f.holds = client
	f.unsynced = append(f.unsynced, v1alpha1.HoldsResource)
}

// OnServed registers a function that is called for each optional kind when it is known whether the kind is served
// and may be read, and when that changes. Calls come from separate goroutines. OnServed must be called before Run.
func (f *Source) OnServed(onServed func(kind string, served bool)) { f.onServed = onServed }

// ObserveObjects registers functions that receive each added or updated pod and node before its event, from
// separate goroutines. Finished pods are then watched too. ObserveObjects must be called before Run.
func (f *Source) ObserveObjects(pod func(*corev1.Pod), node func(*corev1.Node)) {
	f.onPod, f.onNode = pod, node
}

// Run lists and watches until ctx is done.
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

// runReflector lists and watches one kind until ctx is done.
func (f *Source) runReflector(ctx context.Context, k kind) {
	l := &eventStore{source: f, kind: k, objects: map[string]entry{}}
	lw := cache.ToListWatcherWithWatchListSemantics(&cache.ListWatch{ListWithContextFunc: k.list, WatchFuncWithContext: k.watch}, f.client)
	cache.NewReflectorWithOptions(lw, k.object, l, cache.ReflectorOptions{Name: "feed/" + k.name}).RunWithContext(ctx)
}

// setServed records whether an optional kind is served and reports changes. Synced does not wait for a kind that is
// not served.
func (f *Source) setServed(kind string, served bool) {
	f.mu.Lock()
	was, discovered := f.served[kind]
	f.served[kind] = served
	f.mu.Unlock()
	if f.onServed != nil && (!discovered || was != served) {
		f.onServed(kind, served)
	}
	if !served {
		f.markListed(kind)
	}
}

// Synced is closed when every kind was listed once, except ResourceClaims, and Holds that are not served.
func (f *Source) Synced() <-chan struct{} { return f.synced }

// Unsynced returns the kinds that were not listed yet.
func (f *Source) Unsynced() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.unsynced)
}

// Ready receives a value when there are events to take.
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

// Take returns the collected events. The source reuses next as its next buffer.
func (f *Source) Take(next []scheduling.Event) []scheduling.Event {
	clear(next)
	f.mu.Lock()
	defer f.mu.Unlock()
	out := f.events
	f.events = next[:0]
	return out
}

// Conversions returns the number of specifications and labels that converted pods share, and their
// approximate memory.
func (f *Source) Conversions() (entries, bytes int) { return f.converter.Usage() }

// ConvertPod converts a pod that was read outside the watch.
func (f *Source) ConvertPod(p *corev1.Pod) *model.Pod { return f.converter.Pod(p) }

// ConvertBudget converts a disruption budget that was read outside the watch.
func (f *Source) ConvertBudget(b *policyv1.PodDisruptionBudget) *model.Budget {
	return f.converter.Budget(b)
}

// PodScheduled returns the PodScheduled condition of a pending pod as last observed, or nil.
func (f *Source) PodScheduled(uid string) *corev1.PodCondition {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.conditions[uid]
}

// noteCondition stores or removes a pod's condition.
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

// markListed removes a kind from the list of unsynced kinds.
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
