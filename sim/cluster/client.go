package cluster

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/berthproject/berth/sim/store"
)

// client is an actor's access to the API: a cache filled by lagging watches, and requests with
// latency and faults. Killing it clears its state.
type client struct {
	w          *Cluster
	name       string
	reflector  *reflector
	cache      map[store.Kind]map[string]store.Object // by key
	unsynced   map[store.Kind]bool                    // kinds that are not listed yet
	generation int                                    // callbacks of earlier generations are ignored
	stopped    bool

	// onSynced is called when all kinds are listed, and onChange for each later change; old is nil
	// for a new object, now for a deleted one.
	onSynced func()
	onChange func(k store.Kind, old, now store.Object)
	// onStop is called when the actor is killed; may be nil.
	onStop func()
}

// newClient adds an actor that watches kinds; start starts it.
func (w *Cluster) newClient(name string, kinds ...store.Kind) *client {
	c := &client{w: w, name: name, onSynced: func() {}, onChange: func(store.Kind, store.Object, store.Object) {}}
	c.reflector = w.newReflector(name, kinds...)
	c.reflector.onChange = func(ch store.Change) {
		key := keyOf(ch.Object())
		if ch.New == nil {
			c.update(ch.Kind, key, nil)
		} else {
			c.update(ch.Kind, key, ch.New)
		}
	}
	c.reflector.onReplace = c.replace
	w.clients = append(w.clients, c)
	return c
}

// start lists all kinds and watches them.
func (c *client) start() {
	c.stopped = false
	c.cache, c.unsynced = map[store.Kind]map[string]store.Object{}, map[store.Kind]bool{}
	for _, k := range c.reflector.kinds {
		c.cache[k], c.unsynced[k] = map[string]store.Object{}, true
	}
	c.reflector.start()
}

// kill stops the actor; it restarts after d.
func (c *client) kill(d time.Duration) {
	c.generation++
	c.stopped = true
	c.reflector.stop()
	if c.onStop != nil {
		c.onStop()
	}
	c.cache = map[store.Kind]map[string]store.Object{}
	c.after(d, c.start)
}

func (c *client) replace(k store.Kind, list []store.Object) {
	there := make(map[string]bool, len(list))
	for _, o := range list {
		there[keyOf(o)] = true
		c.update(k, keyOf(o), o)
	}
	for _, key := range sortedKeys(c.cache[k]) {
		if !there[key] {
			c.update(k, key, nil)
		}
	}
	if c.unsynced[k] {
		delete(c.unsynced, k)
		if len(c.unsynced) == 0 {
			c.onSynced()
		}
	}
}

// update sets an object in the cache; nil deletes it.
func (c *client) update(k store.Kind, key string, now store.Object) {
	old := c.cache[k][key]
	switch now {
	case nil:
		delete(c.cache[k], key)
	default:
		c.cache[k][key] = now
	}
	if len(c.unsynced) > 0 || old == nil && now == nil {
		return
	}
	if old != nil && now != nil && old.GetUID() != now.GetUID() {
		c.onChange(k, old, nil)
		old = nil
	}
	c.onChange(k, old, now)
}

// synced reports whether all kinds are listed.
func (c *client) synced() bool { return !c.stopped && len(c.unsynced) == 0 }

func (c *client) pod(key string) *corev1.Pod {
	p, _ := c.cache[store.Pods][key].(*corev1.Pod)
	return p
}

func (c *client) node(name string) *corev1.Node {
	n, _ := c.cache[store.Nodes][name].(*corev1.Node)
	return n
}

// after calls f after d unless the actor is killed before.
func (c *client) after(d time.Duration, f func()) {
	life := c.generation
	c.w.after(d, func() {
		if c.generation == life {
			f()
		}
	})
}

// at calls f at a time unless the actor is killed before.
func (c *client) at(t time.Time, f func()) { c.after(max(t.Sub(c.w.now), 0), f) }

// request sends a request and passes the result to then. A request in flight when the actor is
// killed is executed or not, depending on the seed.
func (c *client) request(effect, key string, do func() error, then func(error)) {
	life := c.generation
	ending := c.w.faults.faultOf(effect, key)
	if ending != NoFault {
		c.w.log("fault", ending.String(), key, describeFault(effect, c.name, ending))
	}
	c.w.after(c.w.o.Latency, func() {
		if c.generation != life && c.w.faults.hash("cut/"+c.name+"/"+key)%2 == 0 {
			return
		}
		err := c.perform(ending, key, do)
		c.w.after(c.w.o.Latency, func() {
			if c.generation == life && then != nil {
				then(err)
			}
		})
	})
}

// perform executes a request with a fault and returns the error that the sender receives.
func (c *client) perform(ending Fault, key string, do func() error) error {
	switch ending {
	case NoFault:
		return do()
	case Refuse:
		return apierrors.NewServiceUnavailable("injected failure")
	case Conflict:
		return apierrors.NewConflict(corev1.Resource("objects"), key, errScenario)
	case Delayed:
		c.w.after(c.w.faults.requestDelay(c.name+"/"+key, maxRequestDelay), func() { _ = do() })
	case ResponseLost, NeverAnswered, Partial:
		_ = do()
	case RequestLost:
	}
	return errNoAnswer
}

// maxRequestDelay is the longest delay of a delayed request.
const maxRequestDelay = 20 * time.Second
