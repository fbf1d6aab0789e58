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

// statefulSet reconciles a StatefulSet; its template never changes here, and its pods have no
// claims.
func (o *controller) statefulSet(set *appsv1.StatefulSet, done func(time.Duration, error)) {
	id := string(set.UID)
	var pods []engineworkload.StatefulPod
	keys := slices.Sorted(maps.Keys(o.pods[id]))
	kept := keys[:0:0]
	for _, key := range keys {
		p := o.pods[id][key]
		n, err := strconv.ParseInt(strings.TrimPrefix(p.Name, set.Name+"-"), 10, 32)
		if err != nil {
			continue
		}
		seen := engineworkload.StatefulPod{Pod: conversion.WorkloadPod(p), Ordinal: int32(n)}
		if d, failed := engineworkload.FailureOf(&seen.Pod); failed {
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
func (o *controller) pastDeaths(at string) (out []engineworkload.PodFailure) {
	for _, uid := range slices.Sorted(maps.Keys(o.deaths[at])) {
		out = append(out, o.deaths[at][uid])
	}
	return out
}

func (o *controller) recordDeath(at, uid string, d engineworkload.PodFailure) {
	if o.deaths[at] == nil {
		o.deaths[at] = map[string]engineworkload.PodFailure{}
	}
	o.deaths[at][uid] = d
}
