package cluster

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	enginedisplacement "github.com/berthproject/berth/engine/displacement"
	"github.com/berthproject/berth/engine/tainteviction"
	"github.com/berthproject/berth/internal/conversion"
	"github.com/berthproject/berth/sim/store"
)

// taintEviction is the taint eviction controller: it evicts pods that do not tolerate, or no
// longer tolerate, NoExecute taints.
type taintEviction struct {
	*client
	machine *tainteviction.Machine
	steps   stepper[tainteviction.Event]
}

func newTaintEviction(w *Cluster) *taintEviction {
	e := &taintEviction{client: w.newClient("taints", store.Nodes, store.Pods)}
	e.steps = stepper[tainteviction.Event]{c: e.client, step: e.step}
	e.onStop = e.steps.reset
	e.onSynced = func() {
		e.machine = tainteviction.New(w.o.Taints, w.now)
		for _, k := range e.reflector.kinds {
			for _, key := range sortedKeys(e.cache[k]) {
				e.observe(nil, e.cache[k][key])
			}
		}
	}
	e.onChange = func(_ store.Kind, old, now store.Object) { e.observe(old, now) }
	e.start()
	return e
}

func (e *taintEviction) observe(old, now store.Object) {
	switch now {
	case nil:
		switch old := old.(type) {
		case *corev1.Node:
			e.steps.enqueue(tainteviction.NodeDeleted{Name: old.Name})
		case *corev1.Pod:
			e.steps.enqueue(tainteviction.PodDeleted{Namespace: old.Namespace, Name: old.Name})
		}
	default:
		switch now := now.(type) {
		case *corev1.Node:
			e.steps.enqueue(tainteviction.Node{Name: now.Name, Taints: conversion.TimedTaints(now)})
		case *corev1.Pod:
			if now.Spec.NodeName != "" {
				e.steps.enqueue(conversion.TaintEvictionPod(now))
			}
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
			if p := e.pod(key); p != nil && string(p.UID) == effect.Pod.UID {
				_ = e.w.createEventOnce(p, "taint-eviction-controller", "TaintManagerEviction", "", "Cancelling deletion of Pod "+key, effect.Due.String()) //nolint:misspell // as kube-controller-manager spells it
				e.w.log("taints", "cancel", key, key+" is no longer being evicted")
			}
		}
	}
	return wake
}

func (e *taintEviction) evict(order tainteviction.Evict) {
	p := e.pod(order.Pod.Key())
	if p == nil || string(p.UID) != order.Pod.UID {
		return
	}
	rule := fmt.Sprintf("taint %s:%s on node %s", order.Taint.Key, order.Taint.Effect, order.Pod.Node)
	words := "is evicted: " + rule
	if order.Tolerated {
		words += fmt.Sprintf(", tolerated for %d s", order.Seconds)
	}
	d := displacement{pod: p, message: words, recordInBudgets: !e.w.o.TaintEvictionsSkipBudgets, record: enginedisplacement.Record{Cause: enginedisplacement.Taint, Victim: e.w.model(p), Node: p.Spec.NodeName, Rule: rule}}
	e.displace(d, func(err error) {
		if err != nil {
			e.steps.enqueue(tainteviction.EvictFailed{Namespace: p.Namespace, Name: p.Name, UID: string(p.UID)})
		}
	})
}
