package informer

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"

	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/scheduling"
	"github.com/berthproject/berth/internal/conversion"
	"github.com/berthproject/berth/sim/store"
)

// Input is an event for the scheduler and the objects that it was made from.
type Input struct {
	Event scheduling.Event
	// Object is the object of an upsert, or the pod that an outcome observed.
	Object store.Object
	// Budgets are the budgets that refused a request.
	Budgets []*policyv1.PodDisruptionBudget
}

// Converter converts watch events to scheduler events as package informers does: it converts
// objects, omits finished pods and adds deletions after a list.
type Converter struct {
	converter *conversion.Converter
	knownUIDs map[store.Kind]map[string]string // by key
}

// NewConverter returns a Converter that has observed nothing.
func NewConverter() *Converter {
	return &Converter{converter: conversion.New(), knownUIDs: map[store.Kind]map[string]string{}}
}

// OnChange appends the events of a change.
func (v *Converter) OnChange(inputs []Input, c store.Change) []Input {
	if c.New == nil || store.Finished(c.New) {
		return v.addNodeEviction(v.remove(inputs, c.Kind, store.KeyOf(c.Object())), c.New)
	}
	return v.upsert(inputs, c.Kind, c.New)
}

// OnReplace appends the events of a list.
func (v *Converter) OnReplace(inputs []Input, k store.Kind, list []store.Object) []Input {
	listed := make(map[string]bool, len(list))
	for _, o := range list {
		if !store.Finished(o) {
			inputs = v.upsert(inputs, k, o)
			listed[store.KeyOf(o)] = true
		}
		inputs = v.addNodeEviction(inputs, o)
	}
	var deleted []string
	for key := range v.knownUIDs[k] {
		if !listed[key] {
			deleted = append(deleted, key)
		}
	}
	slices.Sort(deleted)
	for _, key := range deleted {
		inputs = v.remove(inputs, k, key)
	}
	return inputs
}

// addNodeEviction appends the event of a pod evicted by its node.
func (v *Converter) addNodeEviction(inputs []Input, o store.Object) []Input {
	if o != nil && store.Finished(o) {
		if e := v.Compile(o); e != nil {
			inputs = append(inputs, Input{Event: e, Object: o})
		}
	}
	return inputs
}

func (v *Converter) upsert(inputs []Input, k store.Kind, o store.Object) []Input {
	key := store.KeyOf(o)
	if uid, ok := v.knownUIDs[k][key]; ok && uid != string(o.GetUID()) {
		inputs = v.remove(inputs, k, key)
	}
	if v.knownUIDs[k] == nil {
		v.knownUIDs[k] = map[string]string{}
	}
	v.knownUIDs[k][key] = string(o.GetUID())
	return append(inputs, Input{Event: v.Compile(o), Object: o})
}

func (v *Converter) remove(inputs []Input, k store.Kind, key string) []Input {
	uid, ok := v.knownUIDs[k][key]
	if !ok {
		return inputs
	}
	delete(v.knownUIDs[k], key)
	return append(inputs, Input{Event: scheduling.Remove{Object: Identity(k, key, uid)}})
}

// Pod converts a pod.
func (v *Converter) Pod(p *corev1.Pod) *model.Pod { return v.converter.Pod(p) }

// Compile converts an object, or returns nil if scheduling does not read it. For a finished pod
// it returns the eviction by the pod's node, if any.
func (v *Converter) Compile(o store.Object) any {
	if p, ok := o.(*corev1.Pod); ok && store.Finished(p) {
		if e := v.converter.Eviction(p); e != nil {
			return e
		}
		return nil
	}
	return v.converter.Convert(o)
}
