package cluster

import (
	"time"

	"github.com/berthproject/berth/sim/store"
)

// reflector lists and watches kinds for one client. The events of a kind are ordered and
// delayed by the lag; between kinds there is no order.
type reflector struct {
	w     *Cluster
	name  string
	kinds []store.Kind
	// filter selects the delivered changes; nil delivers all.
	filter func(store.Change) bool
	// onChange handles a change, onReplace a list.
	onChange  func(store.Change)
	onReplace func(store.Kind, []store.Object)

	lag      time.Duration
	streams  map[store.Kind]*stream
	inFlight int // scheduled deliveries
	stopped  bool
}

type stream struct {
	last          time.Time // time of the last scheduled delivery
	epoch         int       // deliveries of earlier epochs are lost
	open          bool
	duplicateNext bool // deliver the next change twice
}

// newReflector adds a reflector; start starts it.
func (w *Cluster) newReflector(name string, kinds ...store.Kind) *reflector {
	r := &reflector{w: w, name: name, kinds: kinds, lag: w.o.Lag, streams: map[store.Kind]*stream{}}
	for _, k := range kinds {
		r.streams[k] = &stream{}
	}
	w.reflectors = append(w.reflectors, r)
	return r
}

// start lists and watches all kinds.
func (r *reflector) start() {
	r.stopped = false
	for _, k := range r.kinds {
		r.list(k)
	}
}

// stop loses all deliveries in flight.
func (r *reflector) stop() {
	r.stopped = true
	for _, k := range r.kinds {
		r.disconnect(k)
	}
}

// drop breaks the watch of a kind; after d it is listed again.
func (r *reflector) drop(k store.Kind, d time.Duration) {
	s := r.disconnect(k)
	epoch := s.epoch
	r.w.after(d, func() {
		if s.epoch == epoch && !r.stopped {
			r.list(k)
		}
	})
}

func (r *reflector) disconnect(k store.Kind) *stream {
	s := r.streams[k]
	s.epoch++
	s.open = false
	r.w.audit.forgiveAfterLostWatch(r, k)
	return s
}

func (r *reflector) list(k store.Kind) {
	s := r.streams[k]
	s.epoch++
	s.open = true
	objects := append([]store.Object(nil), r.w.api.List(k)...)
	r.schedule(s, r.w.now.Add(r.lag), func() { r.onReplace(k, objects) })
}

// observe schedules the delivery of a change.
func (r *reflector) observe(c store.Change) {
	s := r.streams[c.Kind]
	if s == nil || !s.open || r.filter != nil && !r.filter(c) {
		return
	}
	at := r.w.now.Add(r.lag + r.w.faults.watchDelay(r.name, c))
	r.schedule(s, at, func() { r.onChange(c) })
	if s.duplicateNext || r.w.faults.isDuplicated(r.name, c) {
		s.duplicateNext = false
		r.schedule(s, at, func() { r.onChange(c) })
	}
}

func (r *reflector) schedule(s *stream, at time.Time, f func()) {
	if at.Before(s.last) {
		at = s.last
	}
	s.last = at
	epoch := s.epoch
	r.inFlight++
	r.w.at(at, func() {
		r.inFlight--
		if s.epoch == epoch {
			f()
		}
	})
}

// isSynced reports whether all watches are open and nothing is in flight.
func (r *reflector) isSynced() bool {
	for _, s := range r.streams {
		if !s.open {
			return false
		}
	}
	return r.inFlight == 0
}
