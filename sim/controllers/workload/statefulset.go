package workload

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"

	engineworkload "github.com/berthproject/berth/engine/workload"
	"github.com/berthproject/berth/internal/conversion"
)

// reconcileStatefulSet reconciles a StatefulSet. No scenario changes its template, and its pods
// have no claims.
func (o *controller) reconcileStatefulSet(set *appsv1.StatefulSet, done func(time.Duration, error)) {
	id := string(set.UID)
	var pods []engineworkload.StatefulPod
	keys := slices.Sorted(maps.Keys(o.pods[id]))
	podKeys := keys[:0:0]
	for _, key := range keys {
		p := o.pods[id][key]
		n, err := strconv.ParseInt(strings.TrimPrefix(p.Name, set.Name+"-"), 10, 32)
		if err != nil {
			continue
		}
		observed := engineworkload.StatefulPod{Pod: conversion.WorkloadPod(p), Ordinal: int32(n)}
		if failure, failed := engineworkload.FailureOf(&observed.Pod); failed {
			observed.NotBefore = o.notBefore(set, p.Spec.NodeName, append(o.pastFailures(p.Name), failure))
			o.recordFailure(p.Name, observed.UID, failure)
		}
		pods, podKeys = append(pods, observed), append(podKeys, key)
	}
	machine := conversion.StatefulSet(set, "", "")
	plan := machine.Plan(o.w.Now(), pods)
	for _, c := range plan.Create {
		p := o.newPod(set, "StatefulSet", &set.Spec.Template)
		p.Name = fmt.Sprintf("%s-%d", set.Name, c.Ordinal)
		o.create(set, "StatefulSet", p)
	}
	for _, d := range plan.Delete {
		o.delete(podKeys[d.Pod], pods[d.Pod].UID)
	}
	done(o.requeueAfter(plan.Wake), nil)
}

// pastFailures returns the recorded failures of deleted pods.
func (o *controller) pastFailures(slot string) (out []engineworkload.PodFailure) {
	for _, uid := range slices.Sorted(maps.Keys(o.failures[slot])) {
		out = append(out, o.failures[slot][uid])
	}
	return out
}

func (o *controller) recordFailure(slot, uid string, failure engineworkload.PodFailure) {
	if o.failures[slot] == nil {
		o.failures[slot] = map[string]engineworkload.PodFailure{}
	}
	o.failures[slot][uid] = failure
}
