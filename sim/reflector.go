package sim

import (
	"time"

	"github.com/berthproject/berth/sim/store"
)

// reflector is one client's lists and watches: a stream a kind, each in order and
// behind by its own lag. Between kinds there is no order, as in production.
type reflector struct {
	w     *World
	name  string
	kinds []store.Kind
	// filter leaves out what the client has no interest in; nil: nothing.
	filter func(store.Change) bool
	// onChange takes one change; replace a whole list of a kind, after which see goes on.
	onChange  func(store.Change)
	onReplace func(store.Kind, []store.Object)

	lag      time.Duration
	streams  map[store.Kind]*stream
	inFlight int // deliveries in progress
	stopped  bool
}

type stream struct {
	last          time.Time // of the latest delivery that is scheduled
	epoch         int       // deliveries of older ones are lost
	open          bool
	duplicateNext bool // the next change comes twice
}

// newReflector adds a reader whose streams are closed; begin opens them.
func (w *World) newReflector(name string, kinds ...store.Kind) *reflector {
	r := &reflector{w: w, name: name, kinds: kinds, lag: w.o.Lag, streams: map[store.Kind]*stream{}}
	for _, k := range kinds {
		r.streams[k] = &stream{}
	}
	w.reflectors = append(w.reflectors, r)
	return r
}

// start lists all kinds and watches from there.
func (r *reflector) start() {
	r.stopped = false
	for _, k := range r.kinds {
		r.list(k)
	}
}

// stop loses all that is in progress, and what comes.
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

// isSynced reports whether nothing is in progress and nothing was lost.
func (r *reflector) isSynced() bool {
	for _, s := range r.streams {
		if !s.open {
			return false
		}
	}
	return r.inFlight == 0
}
