package reconciler

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/berthproject/berth/api/v1alpha1"
	"github.com/berthproject/berth/engine/scheduling"
	"github.com/berthproject/berth/informers"
	"github.com/berthproject/berth/internal/conversion"
	"github.com/berthproject/berth/sim/store"
)

// watches are the watches of an actor as events. They implement informers.Events.
type watches struct {
	p       *Process
	details bool
	events  []scheduling.Event
	wake    func() // ends Wait; nil if nothing waits
}

// Watches returns the watches of the actor as events, with details if informers.Source.ObserveDetails is to be simulated.
func (p *Process) Watches(details bool) informers.Events {
	e := &watches{p: p, details: details}
	if details {
		e.events = append(e.events, informers.KindServed{Kind: v1alpha1.HoldsResource, Served: true})
	}
	p.watches = append(p.watches, e)
	return e
}

// change adds the events of a change. Without details, the API server does not send finished pods.
func (e *watches) change(old, current store.Object) {
	converter := e.p.actor.w.Converter()
	isSent := func(o store.Object) bool { return o != nil && (e.details || !store.Finished(o)) }
	if !isSent(current) {
		if isSent(old) {
			e.events = append(e.events, scheduling.Remove{Object: converter.Convert(old)})
		}
		if p, ok := current.(*corev1.Pod); ok {
			if eviction := converter.Eviction(p); eviction != nil {
				e.events = append(e.events, eviction)
			}
		}
	} else if converted := converter.Convert(current); converted != nil {
		if e.details {
			e.addDetails(current)
		}
		e.events = append(e.events, converted)
	}
	if e.wake != nil && len(e.events) > 0 {
		e.p.actor.After(informers.BatchWindow, e.wake)
		e.wake = nil
	}
}

func (e *watches) addDetails(o store.Object) {
	switch o := o.(type) {
	case *corev1.Pod:
		e.events = append(e.events, informers.PodDetails{UID: string(o.UID), Details: conversion.PodDetails(o)})
	case *corev1.Node:
		e.events = append(e.events, informers.NodeReadiness{UID: string(o.UID), NotReady: conversion.NotReady(o)})
	}
}

// Start implements informers.Events. A process starts when its caches are filled.
func (e *watches) Start(context.Context) (stop func(), err error) { return func() {}, nil }

// Take implements informers.Events.
func (e *watches) Take([]scheduling.Event) []scheduling.Event {
	out := e.events
	e.events = nil
	return out
}

// Wait implements informers.Events.
func (e *watches) Wait(ctx context.Context, d time.Duration) {
	if deadline, ok := ctx.Deadline(); ok {
		d = min(d, deadline.Sub(e.p.Now()))
	}
	if len(e.events) > 0 {
		e.p.Pause(ctx, min(d, informers.BatchWindow))
		return
	}
	e.p.group.Wait(func(resume func()) {
		ended := false
		end := func() {
			if !ended {
				ended, e.wake = true, nil
				resume()
			}
		}
		e.wake = end
		e.p.actor.After(d, end)
	})
}
