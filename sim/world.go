package sim

import (
	"container/heap"
	"time"

	"github.com/berthproject/berth/internal/conversion"
	"github.com/berthproject/berth/sim/store"
)

// Options configure a World.
type Options struct {
	Start time.Time // zero: 2026-01-01 00:00 UTC
	Seed  uint64    // of faults
	// Latency is the one-way latency of requests.
	Latency time.Duration
	// Lag is the lag of watches.
	Lag    time.Duration
	Faults Faults
	// OnLine receives the timeline; may be nil.
	OnLine func(Line)
	// Stop is polled; if it returns true, the run ends. May be nil.
	Stop func() bool
}

// World is what actors share under virtual time: the clock and its events, the API server,
// watches, faults, and the timeline. Create it with New.
type World struct {
	o     Options
	now   time.Time
	queue eventHeap
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
}

// New returns a world without actors and objects.
func New(o Options) *World {
	if o.Start.IsZero() {
		o.Start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	}
	if o.OnLine == nil {
		o.OnLine = func(Line) {}
	}
	w := &World{o: o, now: o.Start, converter: conversion.New(), models: newModels(), faults: newFaultInjector(&o)}
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

// At calls f at a time after the start, after everything scheduled earlier for that time.
func (w *World) At(d time.Duration, f func()) { w.AtTime(w.o.Start.Add(d), f) }

// After calls f after d.
func (w *World) After(d time.Duration, f func()) { w.AtTime(w.now.Add(d), f) }

// AtTime calls f at a time, or now if the time has passed.
func (w *World) AtTime(t time.Time, f func()) {
	if t.Before(w.now) {
		t = w.now
	}
	w.seq++
	heap.Push(&w.queue, timedCall{t, w.seq, f})
}

// Run runs the simulation until a time after the start or the first Violation.
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

// Next executes the next event if it is due by end. It returns false if there is none or an
// invariant is violated.
func (w *World) Next(end time.Time) bool {
	if w.violation != nil || len(w.queue) == 0 || w.queue[0].at.After(end) {
		return false
	}
	if w.steps%1024 == 1023 && w.o.Stop != nil && w.o.Stop() {
		return false
	}
	e, ok := heap.Pop(&w.queue).(timedCall)
	if !ok {
		return false
	}
	w.now = e.at
	w.steps++
	e.f()
	return w.violation == nil
}
