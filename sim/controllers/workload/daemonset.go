package workload

import (
	"maps"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/berthproject/berth/engine/placement"
	engineworkload "github.com/berthproject/berth/engine/workload"
	"github.com/berthproject/berth/internal/conversion"
	"github.com/berthproject/berth/sim/store"
)

// reconcileDaemonSet reconciles a DaemonSet. No scenario changes its template.
func (o *controller) reconcileDaemonSet(ds *appsv1.DaemonSet, done func(time.Duration, error)) {
	id := string(ds.UID)
	var pods []engineworkload.DaemonPod
	keys := slices.Sorted(maps.Keys(o.pods[id]))
	for _, key := range keys {
		p := o.pods[id][key]
		observed := engineworkload.DaemonPod{Pod: conversion.WorkloadPod(p), Target: targetNode(p)}
		pods = append(pods, observed)
		if failure, ok := engineworkload.FailureOf(&observed.Pod); ok && p.Status.Phase == corev1.PodFailed {
			o.recordFailure(ownerNodeKey(id, observed.Target), observed.UID, failure)
		}
	}
	candidate := o.newPod(ds, "DaemonSet", &ds.Spec.Template)
	o.lastSuffix[id]--
	addDaemonSetTolerations(&candidate.Spec)
	spec := o.w.Converter().Pod(candidate).Spec
	var nodes []engineworkload.DaemonNode
	desired := 0
	for _, name := range o.Keys(store.Nodes) {
		n := engineworkload.DaemonNode{Name: name}
		if n.ShouldRun, n.ShouldContinue = placement.NodeShouldRunDaemonPod(spec, o.w.Converter().Node(o.Node(name))); n.ShouldRun {
			desired++
			n.NotBefore = o.notBefore(ds, name, o.pastFailures(ownerNodeKey(id, name)))
		}
		nodes = append(nodes, n)
	}
	machine := conversion.DaemonSet(ds, "", desired)
	plan := machine.Plan(o.w.Now(), nodes, pods)
	for _, node := range plan.Create {
		p := o.newPod(ds, "DaemonSet", &ds.Spec.Template)
		addDaemonSetTolerations(&p.Spec)
		p.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{
			NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchFields: []corev1.NodeSelectorRequirement{{Key: "metadata.name", Operator: corev1.NodeSelectorOpIn, Values: []string{node}}}}}}}}
		o.create(ds, "DaemonSet", p)
	}
	for _, d := range plan.Delete {
		o.delete(keys[d.Pod], pods[d.Pod].UID)
	}
	done(o.requeueAfter(plan.Wake), nil)
}

// targetNode returns the node that a DaemonSet pod is for.
func targetNode(p *corev1.Pod) string {
	if p.Spec.NodeName != "" {
		return p.Spec.NodeName
	}
	if a := p.Spec.Affinity; a != nil && a.NodeAffinity != nil && a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution != nil {
		for _, t := range a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms {
			for _, f := range t.MatchFields {
				return f.Values[0]
			}
		}
	}
	return ""
}

// addDaemonSetTolerations adds the tolerations that the DaemonSet controller adds.
func addDaemonSetTolerations(s *corev1.PodSpec) {
	tolerate := func(effect corev1.TaintEffect, keys ...string) {
		for _, key := range keys {
			s.Tolerations = append(s.Tolerations, corev1.Toleration{Key: key, Operator: corev1.TolerationOpExists, Effect: effect})
		}
	}
	tolerate(corev1.TaintEffectNoExecute, corev1.TaintNodeNotReady, corev1.TaintNodeUnreachable)
	tolerate(corev1.TaintEffectNoSchedule, corev1.TaintNodeDiskPressure, corev1.TaintNodeMemoryPressure, corev1.TaintNodePIDPressure, corev1.TaintNodeUnschedulable)
}
