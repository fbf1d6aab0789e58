package sim

import (
	"time"

	"github.com/berthproject/berth/sim/store"
)

// Reflector lists and watches kinds for one actor. The events of a kind are ordered and
// delayed by the lag; between kinds there is no order.
type Reflector struct {
	// Filter selects the delivered changes; nil delivers all.
	Filter func(store.Change) bool

	w     *World
	name  string
	actor Actor
	kinds []store.Kind

	lag      time.Duration
	streams  map[store.Kind]*stream
	inFlight int // scheduled deliveries
	stopped  bool
}

// stream is the watch of a kind.
type stream struct {
	last          time.Time // time of the last scheduled delivery
	epoch         int       // deliveries of earlier epochs are lost
	open          bool
	duplicateNext bool // deliver the next change twice
}

// NewReflector adds an actor that watches kinds; Start starts its watches.
func (w *World) NewReflector(name string, a Actor, kinds ...store.Kind) *Reflector {
	r := &Reflector{w: w, name: name, actor: a, kinds: kinds, lag: w.o.Lag, streams: map[store.Kind]*stream{}}
	for _, k := range kinds {
		r.streams[k] = &stream{}
	}
	w.reflectors = append(w.reflectors, r)
	return r
}

// Start lists and watches all kinds.
func (r *Reflector) Start() {
	r.stopped = false
	for _, k := range r.kinds {
		r.list(k)
	}
}

// Stop closes all watches. Deliveries in flight are lost.
func (r *Reflector) Stop() {
	r.stopped = true
	for _, k := range r.kinds {
		r.disconnect(k)
	}
}

// drop breaks the watch of a kind. After d, the reflector lists the kind again.
func (r *Reflector) drop(k store.Kind, d time.Duration) {
	s := r.disconnect(k)
	epoch := s.epoch
	r.w.After(d, func() {
		if s.epoch == epoch && !r.stopped {
			r.list(k)
		}
	})
}

// disconnect closes the watch of a kind.
func (r *Reflector) disconnect(k store.Kind) *stream {
	s := r.streams[k]
	s.epoch++
	s.open = false
	r.w.Notify(WatchLost{r.name, k})
	return s
}

// list lists a kind and opens its watch.
func (r *Reflector) list(k store.Kind) {
	s := r.streams[k]
	s.epoch++
	s.open = true
	objects := append([]store.Object(nil), r.w.api.List(k)...)
	r.schedule(s, r.w.now.Add(r.lag), func() { r.actor.Replace(k, objects) })
}

// observe schedules the delivery of a change.
func (r *Reflector) observe(c store.Change) {
	s := r.streams[c.Kind]
	if s == nil || !s.open || r.Filter != nil && !r.Filter(c) {
		return
	}
	at := r.w.now.Add(r.lag + r.w.faults.watchDelay(r.name, c))
	r.schedule(s, at, func() { r.actor.Change(c) })
	if s.duplicateNext || r.w.faults.isDuplicated(r.name, c) {
		s.duplicateNext = false
		r.schedule(s, at, func() { r.actor.Change(c) })
	}
}

// schedule schedules a delivery, but not before an earlier one of the kind.
func (r *Reflector) schedule(s *stream, at time.Time, f func()) {
	if at.Before(s.last) {
		at = s.last
	}
	s.last = at
	epoch := s.epoch
	r.inFlight++
	r.w.AtTime(at, func() {
		r.inFlight--
		if s.epoch == epoch {
			f()
		}
	})
}

// IsSynced reports whether all watches are open and nothing is in flight.
func (r *Reflector) IsSynced() bool {
	for _, s := range r.streams {
		if !s.open {
			return false
		}
	}
	return r.inFlight == 0
}

// Kinds returns the watched kinds.
func (r *Reflector) Kinds() []store.Kind { return r.kinds }

// InFlight returns the number of scheduled deliveries.
func (r *Reflector) InFlight() int { return r.inFlight }

// Watches reports whether the watch of a kind is open.
func (r *Reflector) Watches(k store.Kind) bool { return r.streams[k] != nil && r.streams[k].open }
