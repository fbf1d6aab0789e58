package controllers

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	enginedisplacement "github.com/berthproject/berth/engine/displacement"
	"github.com/berthproject/berth/engine/tainteviction"
	"github.com/berthproject/berth/internal/conversion"
	"github.com/berthproject/berth/sim"
	"github.com/berthproject/berth/sim/displacement"
	"github.com/berthproject/berth/sim/store"
)

// taintEviction is the taint eviction controller: it evicts pods that do not tolerate, or no
// longer tolerate, NoExecute taints.
type taintEviction struct {
	*sim.Client
	w       *sim.World
	server  *displacement.Server
	o       TaintEvictionOptions
	machine *tainteviction.Machine
	steps   *sim.Stepper[tainteviction.Event]
}

// TaintEvictionOptions configure the taint eviction controller.
type TaintEvictionOptions struct {
	tainteviction.Options
	// SkipBudgets: evictions add no entries to budgets, as upstream.
	SkipBudgets bool
}

// StartTaintEviction starts the taint eviction controller.
func StartTaintEviction(w *sim.World, server *displacement.Server, o TaintEvictionOptions) {
	e := &taintEviction{w: w, server: server, o: o}
	e.Client = w.NewClient("taints", e, store.Nodes, store.Pods)
	e.steps = sim.NewStepper(e.Client, e.step)
	e.Start()
}

// OnStop implements sim.Controller.
func (e *taintEviction) OnStop() { e.steps.Reset() }

// OnSynced implements sim.Controller.
func (e *taintEviction) OnSynced() {
	e.machine = tainteviction.New(e.o.Options, e.w.Now())
	for _, k := range []store.Kind{store.Nodes, store.Pods} {
		for _, key := range e.Keys(k) {
			e.OnChange(k, nil, e.Cached(k)[key])
		}
	}
}

// OnChange implements sim.Controller.
func (e *taintEviction) OnChange(_ store.Kind, old, current store.Object) {
	if current == nil {
		switch old := old.(type) {
		case *corev1.Node:
			e.steps.Enqueue(tainteviction.NodeDeleted{Name: old.Name})
		case *corev1.Pod:
			e.steps.Enqueue(tainteviction.PodDeleted{Namespace: old.Namespace, Name: old.Name})
		}
		return
	}
	switch current := current.(type) {
	case *corev1.Node:
		e.steps.Enqueue(tainteviction.Node{Name: current.Name, Taints: conversion.TimedTaints(current)})
	case *corev1.Pod:
		if current.Spec.NodeName != "" {
			e.steps.Enqueue(conversion.TaintEvictionPod(current))
		}
	}
}

func (e *taintEviction) step(now time.Time, events []tainteviction.Event) time.Time {
	effects, wake := e.machine.Step(now, events)
	for _, effect := range effects {
		switch effect := effect.(type) {
		case tainteviction.Evict:
			e.evict(effect)
		case tainteviction.Cancel:
			key := effect.Pod.Key()
			if p := e.Pod(key); p != nil && string(p.UID) == effect.Pod.UID {
				_ = createEventOnce(e.w, p, "taint-eviction-controller", "TaintManagerEviction", "", "Cancelling deletion of Pod "+key, effect.Due.String()) //nolint:misspell // as kube-controller-manager spells it
				e.w.Log("taints", "cancel", key, key+" is no longer being evicted")
			}
		}
	}
	return wake
}

func (e *taintEviction) evict(eviction tainteviction.Evict) {
	p := e.Pod(eviction.Pod.Key())
	if p == nil || string(p.UID) != eviction.Pod.UID {
		return
	}
	rule := fmt.Sprintf("taint %s:%s on node %s", eviction.Taint.Key, eviction.Taint.Effect, eviction.Pod.Node)
	message := "is evicted: " + rule
	if eviction.Tolerated {
		message += fmt.Sprintf(", tolerated for %d s", eviction.Seconds)
	}
	d := displacement.Displacement{Pod: p, Message: message, RecordInBudgets: !e.o.SkipBudgets, Record: enginedisplacement.Record{Cause: enginedisplacement.Taint, Victim: e.w.Model(p), Node: p.Spec.NodeName, Rule: rule}}
	e.server.Displace(e.Client, d, func(err error) {
		if err != nil {
			e.steps.Enqueue(tainteviction.EvictFailed{Namespace: p.Namespace, Name: p.Name, UID: string(p.UID)})
		}
	})
}
