package scripted

import (
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/berthproject/berth/agent"
	"github.com/berthproject/berth/agent/pressure"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/nodepressure"
	"github.com/berthproject/berth/engine/nodepressure/usage"
	"github.com/berthproject/berth/internal/conversion"
)

// node is a simulated node with scripted usage.
type node struct {
	name    string
	started time.Time
	// Guarded by Manager.mu.
	next          time.Time // time of the next check; zero means on the next change
	syncRequested bool      // a change came since the last check began

	mu          sync.Mutex // guards the following fields
	converter   *conversion.Converter
	usage       usage.Node
	machine     *nodepressure.Machine
	reserve     *nodepressure.DiskReserve
	space       [nodepressure.NumFilesystems]nodepressure.FsSpace
	terminating map[types.UID]time.Time // by UID, the end of the grace period
	pods        map[types.UID]*pod
	// The running garbage collection and when it is done.
	collection     *nodepressure.ReclaimNodeResources
	collectionDone time.Time
	wasOutOfDisk   bool // OutOfDisk was true at least once
}

// pod caches the parsed form of a pod.
type pod struct {
	version string // resource version of the pod
	model   *model.Pod
	terms   *nodepressure.EvictionSpec
	scripts map[string]*usage.Script
}

func newNode(o *Options, object *corev1.Node, now time.Time) (*node, error) {
	capacity, err := conversion.SimulatedCapacity(object)
	if err != nil {
		return nil, err
	}
	n := &node{name: object.Name, started: now, converter: conversion.New(), terminating: map[types.UID]time.Time{}, pods: map[types.UID]*pod{}}
	n.usage = usage.Node{Capacity: capacity, Since: n.started}
	if created := object.CreationTimestamp; !created.IsZero() {
		n.usage.Since = created.Time
	}
	if text := object.Annotations[usage.Annotation]; text != "" {
		if n.usage.NodeScript, err = usage.ParseNode(text); err != nil {
			return nil, err
		}
	}
	config := o.Config
	config.Layout = capacity.Layout()
	n.machine = nodepressure.New(config)
	n.reserve, err = nodepressure.NewDiskReserve(o.Reserve, func(f nodepressure.Filesystem) (nodepressure.FsSpace, error) { return n.space[f], nil })
	return n, err
}

// admit returns the reason for which the node rejects a pod at a time, or nil.
func (n *node) admit(p *corev1.Pod, now time.Time) *agent.Rejection {
	n.mu.Lock()
	defer n.mu.Unlock()
	if ok, reason, message := n.machine.Admit(n.converter.Pod(p), conversion.EvictionSpec(p)); !ok {
		return &agent.Rejection{Reason: reason, Message: message}
	}
	if ok, reason, message := n.reserve.Admit(now); !ok {
		return &agent.Rejection{Reason: reason, Message: message}
	}
	return nil
}

// conditions returns the conditions of the machine and the reserve. It includes OutOfDisk
// once it has been true.
func (n *node) conditions() []corev1.NodeCondition {
	n.mu.Lock()
	defer n.mu.Unlock()
	return pressure.Conditions(n.machine, n.reserve, n.started, n.wasOutOfDisk)
}

// observe returns the observation of the node while the pods in list run, and whether any usage
// is scripted. n.mu must be held.
func (n *node) observe(now time.Time, list []*corev1.Pod) (o nodepressure.Observation, scripted bool) {
	usages, pods, cached := make([]usage.PodUsage, len(list)), make([]nodepressure.Pod, len(list)), map[types.UID]*pod{}
	for i, object := range list {
		p := n.podInfo(object)
		cached[object.UID] = p
		scripted = scripted || len(p.scripts) > 0
		usages[i] = usage.PodUsageAt(now, p.runningContainers(object), p.terms)
		pods[i] = nodepressure.Pod{Pod: p.model, EvictionSpec: p.terms, Stats: usages[i].Stats(), TerminatesBy: n.terminating[object.UID]}
		if d := object.DeletionTimestamp; d != nil && (pods[i].TerminatesBy.IsZero() || d.Time.Before(pods[i].TerminatesBy)) {
			pods[i].TerminatesBy = d.Time
		}
	}
	n.pods = cached
	o = n.usage.Observe(now, usages)
	o.Pods = func() []nodepressure.Pod { return pods }
	for f, s := range [nodepressure.NumFilesystems]nodepressure.Signal{nodepressure.ImageFs: nodepressure.ImageFsAvailable, nodepressure.RootFs: nodepressure.NodeFsAvailable} {
		n.space[f] = nodepressure.FsSpace{Capacity: o.Signals[s].Capacity, Available: o.Signals[s].Available}
	}
	return o, scripted
}

// podInfo returns the parsed form of a pod, from the cache if the pod has not changed. Invalid
// scripts are ignored.
func (n *node) podInfo(object *corev1.Pod) *pod {
	if p := n.pods[object.UID]; p != nil && p.version == object.ResourceVersion {
		return p
	}
	p := &pod{version: object.ResourceVersion, model: n.converter.Pod(object), terms: conversion.EvictionSpec(object)}
	p.scripts, _ = conversion.SimulatedUsage(object)
	return p
}

// runningContainers returns the containers that run according to the pod's status.
func (p *pod) runningContainers(object *corev1.Pod) (out []usage.RunningContainer) {
	for i := range object.Status.ContainerStatuses {
		if c := &object.Status.ContainerStatuses[i]; c.State.Running != nil {
			out = append(out, usage.RunningContainer{Name: c.Name, Script: p.scripts[c.Name], Since: c.State.Running.StartedAt.Time})
		}
	}
	return out
}
