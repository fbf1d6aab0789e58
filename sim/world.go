package sim

import (
	"time"

	"github.com/berthproject/berth/internal/conversion"
	"github.com/berthproject/berth/sim/store"
)

// Options configures a World.
type Options struct {
	Start time.Time // zero: 2026-01-01 00:00 UTC
	Seed  uint64    // seed of random faults
	// Latency is the one-way latency of requests.
	Latency time.Duration
	// Lag is the lag of watches.
	Lag    time.Duration
	Faults Faults
	// OnLine receives the timeline; may be nil.
	OnLine func(Line)
	// Stop is polled before each event; if it returns true, the run ends. May be nil.
	Stop func() bool
}

// World is what actors share under virtual time: the clock and its events, the API server,
// watches, faults, and the timeline. Create it with New.
type World struct {
	o     Options
	now   time.Time
	queue callHeap
	seq   uint64
	steps int // number of executed events

	api        *store.Store
	converter  *conversion.Converter
	models     models
	reflectors []*Reflector
	faults     *FaultInjector
	onCommit   []func(store.Change)
	onNotice   []func(any)
	violation  *Violation
	stopped    bool // by Options.Stop
	onClose    []func()
	killPoint  *KillPoint
	evictions  EvictionHandler
	requester  string // see Requester

	lostRetries map[string]bool // see LoseRetries
}

// New returns a world without actors or objects. The caller must close it.
func New(o Options) *World {
	if o.Start.IsZero() {
		o.Start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	}
	if o.OnLine == nil {
		o.OnLine = func(Line) {}
	}
	w := &World{o: o, now: o.Start, converter: conversion.New(), models: newModels(), faults: newFaultInjector(&o), lostRetries: map[string]bool{}}
	w.api = store.New(func() time.Time { return w.now })
	w.api.OnCommit = w.commit
	return w
}

// Options returns the options. The caller must not modify them.
func (w *World) Options() *Options { return &w.o }

// API returns the simulated API server. Actors observe writes to it as usual.
func (w *World) API() *store.Store { return w.api }

// Now returns the virtual time.
func (w *World) Now() time.Time { return w.now }

// Elapsed returns the virtual time since the start.
func (w *World) Elapsed() time.Duration { return w.now.Sub(w.o.Start) }

// Steps returns the number of executed events.
func (w *World) Steps() int { return w.steps }

// Latency returns the one-way latency of requests.
func (w *World) Latency() time.Duration { return w.o.Latency }

// Faults returns the injector of faults.
func (w *World) Faults() *FaultInjector { return w.faults }

// At calls f at time d after the start, after everything scheduled earlier for that time.
func (w *World) At(d time.Duration, f func()) { w.AtTime(w.o.Start.Add(d), f) }

// After calls f after d.
func (w *World) After(d time.Duration, f func()) { w.AtTime(w.now.Add(d), f) }

// AtTime calls f at a time, or now if the time has passed.
func (w *World) AtTime(t time.Time, f func()) {
	if t.Before(w.now) {
		t = w.now
	}
	w.seq++
	w.queue.push(timedCall{t, w.seq, f})
}

// Run runs the simulation until a time after the start, the first Violation or Options.Stop.
func (w *World) Run(until time.Duration) error {
	end := w.o.Start.Add(until)
	for w.Next(end) {
	}
	done := len(w.queue) == 0 || w.queue[0].at.After(end)
	if w.violation == nil && done && w.now.Before(end) {
		w.now = end
	}
	return w.Violation()
}

// Next executes the next event if it is due by end. It returns false if there is none, an invariant
// is violated or Options.Stop ends the run.
func (w *World) Next(end time.Time) bool {
	if w.violation != nil || w.stopped || len(w.queue) == 0 || w.queue[0].at.After(end) {
		return false
	}
	if w.o.Stop != nil && w.o.Stop() {
		w.stopped = true
		return false
	}
	e := w.queue.pop()
	w.now = e.at
	w.steps++
	e.f()
	return w.violation == nil
}

// Stopped reports whether Options.Stop has ended the run. The clock does not advance afterwards.
func (w *World) Stopped() bool { return w.stopped }

// OnClose adds a function that Close calls.
func (w *World) OnClose(f func()) { w.onClose = append(w.onClose, f) }

// Close calls the functions added with OnClose. The world must not run afterwards.
func (w *World) Close() {
	for _, f := range w.onClose {
		f()
	}
}

// NextAt returns the time of the next event, and whether there is one.
func (w *World) NextAt() (time.Time, bool) {
	if len(w.queue) == 0 {
		return time.Time{}, false
	}
	return w.queue[0].at, true
}

// MoveTo moves the clock forward to a time, or to the next event if that is earlier.
func (w *World) MoveTo(t time.Time) {
	if next, ok := w.NextAt(); ok && next.Before(t) {
		t = next
	}
	if t.After(w.now) {
		w.now = t
	}
}
