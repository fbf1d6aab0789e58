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
	holds     v1alpha1.Client // nil: no holds
	onServed  func(kind string, served bool)
	onPod     func(*corev1.Pod)
	onNode    func(*corev1.Node)
	details   bool // see ObserveDetails
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
	s := &Source{client: client, converter: conversion.New(), conditions: map[string]*corev1.PodCondition{}, served: map[string]bool{},
		ready: make(chan struct{}, 1), synced: make(chan struct{})}
	for _, k := range s.kinds() {
		s.unsynced = append(s.unsynced, k.name)
	}
	return s
}

// WatchHolds makes the source watch Holds, if they are served and may be read. It must be called
// before Run.
func (s *Source) WatchHolds(client v1alpha1.Client) {
	s.holds = client
	s.unsynced = append(s.unsynced, v1alpha1.HoldsResource)
}

// OnServed registers a function that is called for each optional kind. The calls report whether the kind is served and
// may be read, first when that is known and then at each change. Calls come from separate goroutines. OnServed must be
// called before Run.
func (s *Source) OnServed(onServed func(kind string, served bool)) { s.onServed = onServed }

// ObserveObjects registers functions that receive each added or updated pod and node before its event, from
// separate goroutines. It must be called before Run.
func (s *Source) ObserveObjects(pod func(*corev1.Pod), node func(*corev1.Node)) {
	s.onPod, s.onNode = pod, node
}

// ObserveDetails makes the source watch finished pods too, and emit PodDetails before each pod, NodeReadiness before each
// node and KindServed for optional kinds. It must be called before Run.
func (s *Source) ObserveDetails() { s.details = true }

// Run lists and watches until ctx is done.
func (s *Source) Run(ctx context.Context) {
	var wg sync.WaitGroup
	for _, k := range s.kinds() {
		wg.Go(func() { s.runReflector(ctx, k) })
	}
	for groupVersion, kinds := range s.optionalKinds() {
		for _, k := range kinds {
			wg.Go(func() { s.runWhenServed(ctx, groupVersion, k) })
		}
	}
	wg.Wait()
}

// runReflector lists and watches one kind until ctx is done.
func (s *Source) runReflector(ctx context.Context, k kind) {
	l := &eventStore{source: s, kind: k, objects: map[string]entry{}}
	lw := cache.ToListWatcherWithWatchListSemantics(&cache.ListWatch{ListWithContextFunc: k.list, WatchFuncWithContext: k.watch}, s.client)
	cache.NewReflectorWithOptions(lw, k.object, l, cache.ReflectorOptions{Name: "informers/" + k.name}).RunWithContext(ctx)
}

// setServed records whether an optional kind is served and reports changes. Synced does not wait for a kind that is
// not served.
func (s *Source) setServed(kind string, served bool) {
	s.mu.Lock()
	previous, reported := s.served[kind]
	s.served[kind] = served
	s.mu.Unlock()
	if !reported || previous != served {
		if s.onServed != nil {
			s.onServed(kind, served)
		}
		if s.details {
			s.Push(KindServed{kind, served})
		}
	}
	if !served {
		s.markListed(kind)
	}
}

// Synced returns a channel that is closed when every kind was listed once. It does not wait for ResourceClaims, nor for
// Holds that are not served or must not be read.
func (s *Source) Synced() <-chan struct{} { return s.synced }

// Unsynced returns the kinds that were not listed yet.
func (s *Source) Unsynced() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.unsynced)
}

// Ready receives a value when there are events to take.
func (s *Source) Ready() <-chan struct{} { return s.ready }

// Push appends events that do not come from a watch, such as the outcomes of effects. It never blocks.
func (s *Source) Push(events ...scheduling.Event) {
	s.mu.Lock()
	s.events = append(s.events, events...)
	s.mu.Unlock()
	select {
	case s.ready <- struct{}{}:
	default:
	}
}

// Take returns the collected events. The source reuses next as its next buffer.
func (s *Source) Take(next []scheduling.Event) []scheduling.Event {
	clear(next)
	s.mu.Lock()
	defer s.mu.Unlock()
	out := s.events
	s.events = next[:0]
	return out
}

// Conversions returns the number of specifications and labels that converted pods share, and their
// approximate memory.
func (s *Source) Conversions() (entries, bytes int) { return s.converter.Usage() }

// ConvertPod converts a pod that was read outside the watch.
func (s *Source) ConvertPod(p *corev1.Pod) *model.Pod { return s.converter.Pod(p) }

// ConvertBudget converts a disruption budget that was read outside the watch.
func (s *Source) ConvertBudget(b *policyv1.PodDisruptionBudget) *model.Budget {
	return s.converter.Budget(b)
}

// PodScheduled returns the PodScheduled condition of a pending pod as last observed, or nil.
func (s *Source) PodScheduled(uid string) *corev1.PodCondition {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.conditions[uid]
}

// setCondition stores or removes a pod's condition.
func (s *Source) setCondition(p *corev1.Pod) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.conditions, string(p.UID))
	if p.Spec.NodeName != "" {
		return
	}
	for i := range p.Status.Conditions {
		if c := p.Status.Conditions[i]; c.Type == corev1.PodScheduled {
			s.conditions[string(p.UID)] = &c
			return
		}
	}
}

func (s *Source) forgetCondition(uid string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.conditions, uid)
}

// markListed removes a kind from the list of unsynced kinds.
func (s *Source) markListed(kind string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.Index(s.unsynced, kind)
	if i < 0 {
		return
	}
	s.unsynced = slices.Delete(s.unsynced, i, i+1)
	if len(s.unsynced) == 0 {
		close(s.synced)
	}
}
