package sim

import (
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/berthproject/berth/sim/store"
)

// Client is a controller's access to the API: a cache filled by lagging watches, and requests
// with latency and faults. Killing it clears its state. It implements Actor.
type Client struct {
	// OnDelivered observes what the watches deliver, before the controller; old is nil for a new object, current for a
	// deleted one. May be nil.
	OnDelivered func(k store.Kind, old, current store.Object)

	w          *World
	name       string
	controller Controller
	reflector  *Reflector
	cache      map[store.Kind]map[string]store.Object // by key
	unsynced   map[store.Kind]bool                    // kinds that are not listed yet
	generation int                                    // callbacks of earlier generations are ignored
	stopped    bool
	requests   int // sent since the first start
}

// Controller is an actor with a cache.
type Controller interface {
	// OnSynced is called when all kinds are listed.
	OnSynced()
	// OnChange is called for each later change; old is nil for a new object, current for a deleted one.
	OnChange(k store.Kind, old, current store.Object)
	// OnStop is called when the actor is killed.
	OnStop()
}

// NewClient adds a controller that watches kinds and returns its client; Start starts it.
func (w *World) NewClient(name string, controller Controller, kinds ...store.Kind) *Client {
	c := &Client{w: w, name: name, controller: controller}
	c.reflector = w.NewReflector(name, c, kinds...)
	return c
}

// NewRequester returns a client that only sends requests. It has no watches and cannot be killed.
func (w *World) NewRequester(name string) *Client { return &Client{w: w, name: name} }

// Start lists all kinds and watches them.
func (c *Client) Start() {
	c.stopped = false
	c.cache, c.unsynced = map[store.Kind]map[string]store.Object{}, map[store.Kind]bool{}
	for _, k := range c.reflector.kinds {
		c.cache[k], c.unsynced[k] = map[string]store.Object{}, true
	}
	c.reflector.Start()
}

// Kill implements Actor.
func (c *Client) Kill(d time.Duration) {
	c.w.Log(c.name, "kill", "", c.name+" is killed")
	c.generation++
	c.stopped = true
	c.reflector.Stop()
	c.controller.OnStop()
	c.w.Notify(Killed{c.name})
	c.cache = map[store.Kind]map[string]store.Object{}
	c.After(d, c.Start)
}

// Stop stops the actor permanently.
func (c *Client) Stop() {
	c.generation++
	c.stopped = true
	c.reflector.Stop()
	c.w.reflectors = slices.DeleteFunc(c.w.reflectors, func(r *Reflector) bool { return r == c.reflector })
	c.controller.OnStop()
}

// Change implements Actor.
func (c *Client) Change(ch store.Change) { c.update(ch.Kind, store.KeyOf(ch.Object()), ch.New) }

// Replace implements Actor.
func (c *Client) Replace(k store.Kind, list []store.Object) {
	listed := make(map[string]bool, len(list))
	for _, o := range list {
		listed[store.KeyOf(o)] = true
		c.update(k, store.KeyOf(o), o)
	}
	for _, key := range c.Keys(k) {
		if !listed[key] {
			c.update(k, key, nil)
		}
	}
	if c.unsynced[k] {
		delete(c.unsynced, k)
		if len(c.unsynced) == 0 {
			c.controller.OnSynced()
		}
	}
}

// update sets an object in the cache, or deletes it if current is nil, and calls OnChange once all kinds are listed.
func (c *Client) update(k store.Kind, key string, current store.Object) {
	old := c.cache[k][key]
	if c.OnDelivered != nil {
		c.OnDelivered(k, old, current)
	}
	if current == nil {
		delete(c.cache[k], key)
	} else {
		c.cache[k][key] = current
	}
	if len(c.unsynced) > 0 || old == nil && current == nil {
		return
	}
	if old != nil && current != nil && old.GetUID() != current.GetUID() {
		c.controller.OnChange(k, old, nil)
		old = nil
	}
	c.controller.OnChange(k, old, current)
}

// Name returns the actor's name.
func (c *Client) Name() string { return c.name }

// Reflector returns the watches.
func (c *Client) Reflector() *Reflector { return c.reflector }

// IsSynced reports whether all kinds are listed.
func (c *Client) IsSynced() bool { return !c.stopped && len(c.unsynced) == 0 }

// Keys returns the sorted keys of the cached objects of a kind.
func (c *Client) Keys(k store.Kind) []string {
	out := slices.AppendSeq(make([]string, 0, len(c.cache[k])), maps.Keys(c.cache[k]))
	slices.Sort(out)
	return out
}

// Cached returns the cached objects of a kind by key. The caller must not modify the map.
func (c *Client) Cached(k store.Kind) map[string]store.Object { return c.cache[k] }

// Pod returns a cached pod, or nil.
func (c *Client) Pod(key string) *corev1.Pod {
	p, _ := c.cache[store.Pods][key].(*corev1.Pod)
	return p
}

// Node returns a cached node, or nil.
func (c *Client) Node(name string) *corev1.Node {
	n, _ := c.cache[store.Nodes][name].(*corev1.Node)
	return n
}

// After calls f after d unless the actor is killed before.
func (c *Client) After(d time.Duration, f func()) {
	generation := c.generation
	c.w.After(d, func() {
		if c.generation == generation {
			f()
		}
	})
}

// AtTime calls f at a time unless the actor is killed before.
func (c *Client) AtTime(t time.Time, f func()) { c.After(max(t.Sub(c.w.now), 0), f) }
