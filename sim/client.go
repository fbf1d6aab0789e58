package sim

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/berthproject/berth/sim/store"
)

// client is an actor's side of the API: what its watches have told it, and requests that
// take their time and may go wrong. One that is killed forgets everything.
type client struct {
	w       *World
	name    string
	r       *reader
	known   map[store.Kind]map[string]store.Object // by key
	missing map[store.Kind]bool                    // not listed yet
	life    int                                    // what an earlier one began is void
	down    bool

	// begin is called when everything was listed; see, from then on, for what is known
	// otherwise than before: old is nil for what is new, now for what is gone.
	begin func()
	see   func(k store.Kind, old, now store.Object)
	// end is called when the actor is killed; may be nil.
	end func()
}

// newClient adds an actor that watches kinds; start begins its life.
func (w *World) newClient(name string, kinds ...store.Kind) *client {
	c := &client{w: w, name: name, begin: func() {}, see: func(store.Kind, store.Object, store.Object) {}}
	c.r = w.newReader(name, kinds...)
	c.r.see = func(ch store.Change) {
		key := keyOf(ch.Object())
		if ch.New == nil {
			c.learn(ch.Kind, key, nil)
		} else {
			c.learn(ch.Kind, key, ch.New)
		}
	}
	c.r.replace = c.replace
	w.clients = append(w.clients, c)
	return c
}

// start begins from lists.
func (c *client) start() {
	c.down = false
	c.known, c.missing = map[store.Kind]map[string]store.Object{}, map[store.Kind]bool{}
	for _, k := range c.r.kinds {
		c.known[k], c.missing[k] = map[string]store.Object{}, true
	}
	c.r.begin()
}

// kill ends the actor; it begins anew after d.
func (c *client) kill(d time.Duration) {
	c.life++
	c.down = true
	c.r.end()
	if c.end != nil {
		c.end()
	}
	c.known = map[store.Kind]map[string]store.Object{}
	c.after(d, c.start)
}

func (c *client) replace(k store.Kind, list []store.Object) {
	there := make(map[string]bool, len(list))
	for _, o := range list {
		there[keyOf(o)] = true
		c.learn(k, keyOf(o), o)
	}
	for _, key := range sortedKeys(c.known[k]) {
		if !there[key] {
			c.learn(k, key, nil)
		}
	}
	if c.missing[k] {
		delete(c.missing, k)
		if len(c.missing) == 0 {
			c.begin()
		}
	}
}

// learn takes in what an object is now; nil: it is gone.
func (c *client) learn(k store.Kind, key string, now store.Object) {
	old := c.known[k][key]
	switch {
	case now == nil:
		delete(c.known[k], key)
	default:
		c.known[k][key] = now
	}
	if len(c.missing) > 0 || old == nil && now == nil {
		return
	}
	if old != nil && now != nil && old.GetUID() != now.GetUID() {
		c.see(k, old, nil)
		old = nil
	}
	c.see(k, old, now)
}

// listed says that the actor knows of everything.
func (c *client) listed() bool { return !c.down && len(c.missing) == 0 }

func (c *client) pod(key string) *corev1.Pod {
	p, _ := c.known[store.Pods][key].(*corev1.Pod)
	return p
}

func (c *client) node(name string) *corev1.Node {
	n, _ := c.known[store.Nodes][name].(*corev1.Node)
	return n
}

// after does something later, if the actor lives on until then.
func (c *client) after(d time.Duration, f func()) {
	life := c.life
	c.w.after(d, func() {
		if c.life == life {
			f()
		}
	})
}

// at is after for a time.
func (c *client) at(t time.Time, f func()) { c.after(max(t.Sub(c.w.now), 0), f) }

// send makes a request; then is told what came of it. What is under way when its sender
// is killed is done or not, as the seed has it.
func (c *client) send(effect, key string, do func() error, then func(error)) {
	life := c.life
	ending := c.w.faults.request(effect, key)
	if ending != Fine {
		c.w.tell("fault", ending.String(), key, "the request of "+c.name+" to "+effect+" "+faultWords[ending])
	}
	c.w.after(c.w.o.Latency, func() {
		if c.life != life && c.w.faults.roll("cut/"+c.name+"/"+key)%2 == 0 {
			return
		}
		err := c.done(ending, key, do)
		c.w.after(c.w.o.Latency, func() {
			if c.life == life && then != nil {
				then(err)
			}
		})
	})
}

// done does a request as its ending has it, and is what its sender hears.
func (c *client) done(ending Ending, key string, do func() error) error {
	switch ending {
	case Fine:
		return do()
	case Refuse:
		return apierrors.NewServiceUnavailable("refused by the scenario")
	case Clash:
		return apierrors.NewConflict(corev1.Resource("objects"), key, errScenario)
	case Late:
		c.w.after(c.w.faults.late(c.name+"/"+key, latest), func() { _ = do() })
	case Unheard, Silent, Partly:
		_ = do()
	case Lost:
	}
	return errNoAnswer
}

// latest is how long after it was sent a late request of a client is done.
const latest = 20 * time.Second
