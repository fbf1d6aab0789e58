package feed

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
	"github.com/berthproject/berth/internal/intake"
)

// Feed collects events until they are taken.
type Feed struct {
	client kubernetes.Interface
	holds  *v1alpha1.Client // nil: no holds
	told   func(kind string, served bool)
	pod    func(*corev1.Pod) // is shown all pods, also finished ones; nil: those are left out
	node   func(*corev1.Node)
	intake *intake.Intake

	mu         sync.Mutex
	events     []scheduling.Event
	waiting    []string                        // kinds not listed yet
	said       map[string]bool                 // whether optional kinds are served, as was told
	conditions map[string]*corev1.PodCondition // of pods without a node, by uid

	ready  chan struct{}
	synced chan struct{}
}

// New makes a feed from an API server.
func New(client kubernetes.Interface) *Feed {
	f := &Feed{client: client, intake: intake.New(), conditions: map[string]*corev1.PodCondition{}, said: map[string]bool{},
		ready: make(chan struct{}, 1), synced: make(chan struct{})}
	for _, k := range f.kinds() {
		f.waiting = append(f.waiting, k.name)
	}
	return f
}

// Holds has holds read, too, where they are served and may be read. It must be called
// before Run.
func (f *Feed) Holds(client *v1alpha1.Client) {
	f.holds = client
	f.waiting = append(f.waiting, v1alpha1.Holds)
}

// Tell has f called for each optional kind as soon as it is known whether it is served and
// may be read, and when that changes, from a goroutine of its own. It must be called before Run.
func (f *Feed) Tell(told func(kind string, served bool)) { f.told = told }

// Show has each pod and node that comes or changes shown before its event, from goroutines of their own. Finished pods
// are read then, too. It must be called before Run.
func (f *Feed) Show(pod func(*corev1.Pod), node func(*corev1.Node)) { f.pod, f.node = pod, node }

// Run lists and watches until the context ends.
func (f *Feed) Run(ctx context.Context) {
	var wg sync.WaitGroup
	for _, k := range f.kinds() {
		wg.Go(func() { f.follow(ctx, k) })
	}
	for groupVersion, kinds := range f.optional() {
		for _, k := range kinds {
			wg.Go(func() { f.followServed(ctx, groupVersion, k) })
		}
	}
	wg.Wait()
}

// follow lists and watches one kind until the context ends.
func (f *Feed) follow(ctx context.Context, k kind) {
	l := &ledger{feed: f, kind: k, there: map[string]entry{}}
	lw := cache.ToListWatcherWithWatchListSemantics(&cache.ListWatch{ListWithContextFunc: k.list, WatchFuncWithContext: k.watch}, f.client)
	cache.NewReflectorWithOptions(lw, k.object, l, cache.ReflectorOptions{Name: "feed/" + k.name}).RunWithContext(ctx)
}

// tell tells whether an optional kind is served, if that is news; nobody waits for one that
// is not.
func (f *Feed) tell(kind string, served bool) {
	f.mu.Lock()
	was, said := f.said[kind]
	f.said[kind] = served
	f.mu.Unlock()
	if f.told != nil && (!said || was != served) {
		f.told(kind, served)
	}
	if !served {
		f.listed(kind)
	}
}

// Synced is closed when every kind was listed once, but ResourceClaims, and holds where
// there are none.
func (f *Feed) Synced() <-chan struct{} { return f.synced }

// Waiting names the kinds that were not listed yet.
func (f *Feed) Waiting() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.waiting)
}

// Ready receives after events came that were not taken yet.
func (f *Feed) Ready() <-chan struct{} { return f.ready }

// Push appends events of other origin, such as outcomes. It never blocks.
func (f *Feed) Push(events ...scheduling.Event) {
	f.mu.Lock()
	f.events = append(f.events, events...)
	f.mu.Unlock()
	select {
	case f.ready <- struct{}{}:
	default:
	}
}

// Take hands over what has come. The slice given is used for what comes next.
func (f *Feed) Take(next []scheduling.Event) []scheduling.Event {
	clear(next)
	f.mu.Lock()
	defer f.mu.Unlock()
	out := f.events
	f.events = next[:0]
	return out
}

// Pod compiles a pod that was read apart from the watch.
func (f *Feed) Pod(p *corev1.Pod) *model.Pod { return f.intake.Pod(p) }

// Budget compiles a disruption budget that was read apart from the watch.
func (f *Feed) Budget(b *policyv1.PodDisruptionBudget) *model.Budget { return f.intake.Budget(b) }

// Condition is the PodScheduled condition of a pod without a node, as last
// seen; nil when it has none.
func (f *Feed) Condition(uid string) *corev1.PodCondition {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.conditions[uid]
}

// note keeps or drops a pod's condition.
func (f *Feed) note(p *corev1.Pod) {
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

func (f *Feed) forget(uid string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.conditions, uid)
}

// listed takes a kind off the list of those waited for.
func (f *Feed) listed(kind string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	i := slices.Index(f.waiting, kind)
	if i < 0 {
		return
	}
	f.waiting = slices.Delete(f.waiting, i, i+1)
	if len(f.waiting) == 0 {
		close(f.synced)
	}
}
