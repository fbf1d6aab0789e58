package sim

import (
	"time"

	"github.com/berthproject/berth/sim/store"
)

// reader is one client's lists and watches: a stream a kind, each in order and
// behind by its own lag. Between kinds there is no order, as in production.
type reader struct {
	w     *World
	name  string
	kinds []store.Kind
	// wants leaves out what the client has no interest in; nil: nothing.
	wants func(store.Change) bool
	// see takes one change; replace a whole list of a kind, after which see goes on.
	see     func(store.Change)
	replace func(store.Kind, []store.Object)

	lag     time.Duration
	streams map[store.Kind]*stream
	under   int // deliveries under way
	ended   bool
}

type stream struct {
	last   time.Time // of the latest delivery that is scheduled
	epoch  int       // deliveries of older ones are lost
	open   bool
	repeat bool // the next change comes twice
}

// newReader adds a reader whose streams are closed; begin opens them.
func (w *World) newReader(name string, kinds ...store.Kind) *reader {
	r := &reader{w: w, name: name, kinds: kinds, lag: w.o.Lag, streams: map[store.Kind]*stream{}}
	for _, k := range kinds {
		r.streams[k] = &stream{}
	}
	w.readers = append(w.readers, r)
	return r
}

// begin lists all kinds and watches from there.
func (r *reader) begin() {
	r.ended = false
	for _, k := range r.kinds {
		r.list(k)
	}
}

// end loses all that is under way, and what comes.
func (r *reader) end() {
	r.ended = true
	for _, k := range r.kinds {
		r.lose(k)
	}
}

// drop breaks the watch of a kind; after d it is listed again.
func (r *reader) drop(k store.Kind, d time.Duration) {
	s := r.lose(k)
	epoch := s.epoch
	r.w.after(d, func() {
		if s.epoch == epoch && !r.ended {
			r.list(k)
		}
	})
}

func (r *reader) lose(k store.Kind) *stream {
	s := r.streams[k]
	s.epoch++
	s.open = false
	r.w.audit.lost(r, k)
	return s
}

func (r *reader) list(k store.Kind) {
	s := r.streams[k]
	s.epoch++
	s.open = true
	objects := append([]store.Object(nil), r.w.api.List(k)...)
	r.schedule(s, r.w.now.Add(r.lag), func() { r.replace(k, objects) })
}

// committed schedules the delivery of a change.
func (r *reader) committed(c store.Change) {
	s := r.streams[c.Kind]
	if s == nil || !s.open || r.wants != nil && !r.wants(c) {
		return
	}
	at := r.w.now.Add(r.lag + r.w.faults.delay(r.name, c))
	r.schedule(s, at, func() { r.see(c) })
	if s.repeat || r.w.faults.repeats(r.name, c) {
		s.repeat = false
		r.schedule(s, at, func() { r.see(c) })
	}
}

func (r *reader) schedule(s *stream, at time.Time, f func()) {
	if at.Before(s.last) {
		at = s.last
	}
	s.last = at
	epoch := s.epoch
	r.under++
	r.w.at(at, func() {
		r.under--
		if s.epoch == epoch {
			f()
		}
	})
}

// drained says that nothing is under way and nothing was lost.
func (r *reader) drained() bool {
	for _, s := range r.streams {
		if !s.open {
			return false
		}
	}
	return r.under == 0
}
