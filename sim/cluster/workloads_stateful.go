package cluster

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/berthproject/berth/engine/workload"
	"github.com/berthproject/berth/internal/conversion"
)

// statefulSet reconciles a StatefulSet; its template never changes here, and its pods have no
// claims.
func (o *workloads) statefulSet(set *appsv1.StatefulSet, done func(time.Duration, error)) {
	id := string(set.UID)
	var pods []workload.StatefulPod
	keys := slices.Sorted(maps.Keys(o.pods[id]))
	kept := keys[:0:0]
	for _, key := range keys {
		p := o.pods[id][key]
		n, err := strconv.ParseInt(strings.TrimPrefix(p.Name, set.Name+"-"), 10, 32)
		if err != nil {
			continue
		}
		seen := workload.StatefulPod{Pod: conversion.WorkloadPod(p), Ordinal: int32(n)}
		if d, failed := workload.FailureOf(&seen.Pod); failed {
			seen.NotBefore = o.notBefore(set, p.Spec.NodeName, append(o.pastDeaths(p.Name), d))
			o.recordDeath(p.Name, seen.UID, d)
		}
		pods, kept = append(pods, seen), append(kept, key)
	}
	machine := conversion.StatefulSet(set, "", "")
	plan := machine.Plan(o.w.Now(), pods)
	for _, c := range plan.Create {
		p := o.newPod(set, "StatefulSet", &set.Spec.Template)
		p.Name = fmt.Sprintf("%s-%d", set.Name, c.Ordinal)
		o.create(set, "StatefulSet", p)
	}
	for _, d := range plan.Delete {
		o.delete(kept[d.Pod], pods[d.Pod].UID)
	}
	done(o.requeueAfter(plan.Wake), nil)
}

// pastDeaths returns the recorded deaths of deleted pods.
func (o *workloads) pastDeaths(at string) (out []workload.PodFailure) {
	for _, uid := range slices.Sorted(maps.Keys(o.deaths[at])) {
		out = append(out, o.deaths[at][uid])
	}
	return out
}

func (o *workloads) recordDeath(at, uid string, d workload.PodFailure) {
	if o.deaths[at] == nil {
		o.deaths[at] = map[string]workload.PodFailure{}
	}
	o.deaths[at][uid] = d
}
