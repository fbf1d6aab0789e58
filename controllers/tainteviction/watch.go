package tainteviction

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/berthproject/berth/controllers/workqueue"
	"github.com/berthproject/berth/engine/tainteviction"
	"github.com/berthproject/berth/internal/conversion"
)

// watch passes relevant changes of nodes and pods to the machine.
func (c *controller) watch(pods, nodes cache.SharedInformer) error {
	if err := workqueue.Watch(nodes, func(old, cur *corev1.Node) {
		switch {
		case cur == nil:
			c.machine.Push(tainteviction.NodeDeleted{Name: old.Name})
		case old == nil || !slices.EqualFunc(old.Spec.Taints, cur.Spec.Taints, sameTaint):
			c.machine.Push(tainteviction.Node{Name: cur.Name, Taints: conversion.TimedTaints(cur)})
		}
	}); err != nil {
		return err
	}
	return workqueue.Watch(pods, func(old, cur *corev1.Pod) {
		switch {
		case cur == nil, cur.Spec.NodeName == "" && old != nil && old.Spec.NodeName != "": // deleted, or replaced by a pod of the same name
			c.machine.Push(tainteviction.PodDeleted{Namespace: old.Namespace, Name: old.Name})
		case cur.Spec.NodeName != "" && (old == nil || relevantChange(old, cur)):
			c.machine.Push(conversion.TaintEvictionPod(cur))
		}
	})
}

func sameTaint(a, b corev1.Taint) bool {
	return a.Key == b.Key && a.Value == b.Value && a.Effect == b.Effect && a.TimeAdded.Equal(b.TimeAdded)
}

// relevantChange reports whether a field that taint eviction reads has changed.
func relevantChange(a, b *corev1.Pod) bool {
	return a.UID != b.UID || a.Spec.NodeName != b.Spec.NodeName || (a.DeletionTimestamp == nil) != (b.DeletionTimestamp == nil) ||
		!slices.EqualFunc(a.Spec.Tolerations, b.Spec.Tolerations, sameToleration) || !a.Status.StartTime.Equal(b.Status.StartTime) || !sameScheduled(a, b)
}

func sameToleration(a, b corev1.Toleration) bool {
	if (a.TolerationSeconds == nil) != (b.TolerationSeconds == nil) || a.TolerationSeconds != nil && *a.TolerationSeconds != *b.TolerationSeconds {
		return false
	}
	return a.Key == b.Key && a.Operator == b.Operator && a.Value == b.Value && a.Effect == b.Effect
}

func sameScheduled(a, b *corev1.Pod) bool {
	scheduled := func(p *corev1.Pod) *corev1.PodCondition {
		for i := range p.Status.Conditions {
			if p.Status.Conditions[i].Type == corev1.PodScheduled {
				return &p.Status.Conditions[i]
			}
		}
		return &corev1.PodCondition{}
	}
	x, y := scheduled(a), scheduled(b)
	return x.Status == y.Status && x.LastTransitionTime.Equal(&y.LastTransitionTime)
}
