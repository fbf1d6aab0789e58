package conformance_test

import (
	"encoding/json"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/nodepressure"
	"github.com/berthproject/berth/internal/conversion"
)

// nodeStat is one of the node stats of a vector. Which fields are set depends on its key.
type nodeStat struct {
	Available  *int64 `json:"availableBytes"`
	WorkingSet int64  `json:"workingSetBytes"`
	Capacity   int64  `json:"capacityBytes"`
	InodesFree *int64 `json:"inodesFree"`
	Inodes     int64  `json:"inodes"`
	Max        *int64 `json:"max"`
	Running    int64  `json:"running"`
}

// recordedUsage is the usage of a pod in a vector.
type recordedUsage struct {
	Missing    bool   `json:"missing"`
	Memory     *int64 `json:"memory"`
	Processes  int64  `json:"processes"`
	Ephemeral  *int64 `json:"ephemeralStorage"`
	Containers []struct {
		Name   string      `json:"name"`
		Memory *int64      `json:"memory"`
		RootFs *recordedFs `json:"rootfs"`
		Logs   *recordedFs `json:"logs"`
	} `json:"containers"`
	Volumes []struct {
		Name string `json:"name"`
		recordedFs
	} `json:"volumes"`
}

// recordedFs is the usage of a file system in a vector.
type recordedFs struct {
	UsedBytes  int64 `json:"usedBytes"`
	InodesUsed int64 `json:"inodesUsed"`
}

// evictionReplay runs a state machine on the pods and stats of a vector.
type evictionReplay struct {
	vector      *evictionVector
	machine     *nodepressure.Machine
	converter   *conversion.Converter
	active      []corev1.Pod
	layoutKnown bool
}

// epoch is the time at t = 0.
var epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func newEvictionReplay(v *evictionVector, thresholds []nodepressure.Threshold) *evictionReplay {
	m := nodepressure.New(nodepressure.Config{Thresholds: thresholds, TransitionPeriod: v.Config.Transition.Duration, MaxPodGrace: v.Config.MaxPodGrace, LocalStorage: v.Config.LocalStorage,
		Layout: nodepressure.Layout{DedicatedImageFs: v.Node.ImageFs, DedicatedContainerFs: v.Node.ContainerFs}})
	return &evictionReplay{vector: v, machine: m, converter: conversion.New(), active: slices.Clone(v.Pods)}
}

// run returns the result of each round in the form of the vectors.
func (r *evictionReplay) run() (out []json.RawMessage) {
	for i := range r.vector.Rounds {
		round := map[string]any{}
		if actions := r.round(&r.vector.Rounds[i]); len(actions) > 0 {
			round["actions"] = actions
		}
		var names []string
		for k, c := range r.machine.Conditions() {
			if c.True {
				names = append(names, nodepressure.ConditionType(model.Pressure(k)))
			}
		}
		if slices.Sort(names); len(names) > 0 {
			round["conditions"] = names
		}
		r.admit(round)
		b, err := json.Marshal(round)
		if err != nil {
			b = []byte(err.Error())
		}
		out = append(out, b)
	}
	return out
}

// round runs one round of the loop and returns its actions in the form of the vectors. It does nothing until the
// layout of the file systems is known.
func (r *evictionReplay) round(round *evictionRound) []map[string]any {
	if r.layoutKnown = r.layoutKnown || !round.LayoutError; !r.layoutKnown {
		return nil
	}
	now := epoch.Add(time.Duration(round.T * float64(time.Second)))
	effects, _ := r.machine.Step(now, r.observe(round, now, nil))
	var out []map[string]any
	for i := 0; i < len(effects); i++ {
		switch e := effects[i].(type) {
		case nodepressure.ThresholdMet:
			out = append(out, map[string]any{"reclaim": e.Resource})
		case nodepressure.ReclaimNodeResources:
			if e.Containers {
				out = append(out, map[string]any{"gc": "containers"})
			}
			if e.Images {
				out = append(out, map[string]any{"gc": "images"})
			}
			effects = append(effects, r.machine.Reclaimed(now, r.observe(round, now, round.AfterReclaim))...)
		case nodepressure.Evict:
			out = append(out, map[string]any{"kill": killResult(&e)})
			if !round.KillError {
				r.active = slices.DeleteFunc(r.active, func(p corev1.Pod) bool { return string(p.UID) == e.Pod.UID })
			}
		}
	}
	return out
}

// killResult returns an eviction in the form of the vectors.
func killResult(e *nodepressure.Evict) map[string]any {
	out := map[string]any{"pod": e.Pod.Key(), "gracePeriodSeconds": e.Grace, "phase": "Failed", "reason": nodepressure.ReasonEvicted, "message": e.Message}
	if e.Condition {
		out["conditions"] = []map[string]string{{"type": string(corev1.DisruptionTarget), "status": "True", "reason": nodepressure.ReasonTerminationByKubelet}}
	}
	annotations := map[string]string{}
	for _, a := range e.Annotations {
		if a.Value != "" {
			annotations[a.Key] = a.Value
		}
	}
	if len(annotations) > 0 {
		out["eventAnnotations"] = annotations
	}
	return out
}

// observe returns the stats of a round. The stats in replaced take precedence.
func (r *evictionReplay) observe(round *evictionRound, now time.Time, replaced map[string]nodeStat) *nodepressure.Observation {
	o := &nodepressure.Observation{ReadFailed: round.SummaryError, CheckLimits: true}
	statsTime := now
	if s := round.StatsTime; s != nil {
		if statsTime = epoch.Add(time.Duration(*s * float64(time.Second))); *s < 0 {
			statsTime = time.Time{}
		}
	}
	stat := func(key string) nodeStat {
		for _, stats := range []map[string]nodeStat{replaced, round.Stats} {
			if s, ok := stats[key]; ok {
				return s
			}
		}
		return r.vector.Stats[key]
	}
	setSignal := func(s nodepressure.Signal, available *int64, capacity int64) {
		if available != nil {
			o.Signals[s] = nodepressure.Stat{Known: true, Available: *available, Capacity: capacity, Time: statsTime}
		}
	}
	for key, s := range map[string]nodepressure.Signal{"memory": nodepressure.MemoryAvailable, "podsMemory": nodepressure.AllocatableMemoryAvailable} {
		if m := stat(key); m.Available != nil {
			setSignal(s, m.Available, *m.Available+m.WorkingSet)
		}
	}
	for key, s := range map[string]nodepressure.Signal{"nodeFs": nodepressure.NodeFsAvailable, "imageFs": nodepressure.ImageFsAvailable, "containerFs": nodepressure.ContainerFsAvailable} {
		f := stat(key)
		setSignal(s, f.Available, f.Capacity)
		setSignal(s+1, f.InodesFree, f.Inodes) // the signal of inodes follows that of bytes
	}
	if p := stat("pids"); p.Max != nil {
		free := *p.Max - p.Running
		setSignal(nodepressure.PIDAvailable, &free, *p.Max)
	}
	o.Pods = func() []nodepressure.Pod { return r.pods(round) }
	return o
}

// pods returns the active pods with their stats in a round.
func (r *evictionReplay) pods(round *evictionRound) (out []nodepressure.Pod) {
	for i := range r.active {
		p := &r.active[i]
		key := p.Namespace + "/" + p.Name
		usage, known := r.vector.PodStats[key]
		if current, replaced := round.PodStats[key]; replaced {
			usage, known = current, true
		}
		q := nodepressure.Pod{Pod: r.converter.Pod(p), EvictionSpec: conversion.EvictionSpec(p)}
		if known && !usage.Missing {
			q.Stats = usage.stats()
		}
		out = append(out, q)
	}
	return out
}

func (u *recordedUsage) stats() *nodepressure.PodStats {
	s := &nodepressure.PodStats{Processes: u.Processes}
	s.Memory, s.MemoryKnown = valueOf(u.Memory)
	s.Ephemeral, s.EphemeralKnown = valueOf(u.Ephemeral)
	for _, c := range u.Containers {
		out := nodepressure.ContainerStats{Name: c.Name, RootFs: c.RootFs.stats(), Logs: c.Logs.stats()}
		out.Memory, out.MemoryKnown = valueOf(c.Memory)
		s.Containers = append(s.Containers, out)
	}
	for _, v := range u.Volumes {
		s.Volumes = append(s.Volumes, nodepressure.VolumeStats{Name: v.Name, FsStats: v.recordedFs.stats()})
	}
	return s
}

// valueOf returns a value, and whether it is known.
func valueOf(v *int64) (int64, bool) {
	if v == nil {
		return 0, false
	}
	return *v, true
}

func (f *recordedFs) stats() nodepressure.FsStats {
	if f == nil {
		return nodepressure.FsStats{}
	}
	return nodepressure.FsStats{Known: true, Bytes: f.UsedBytes, Inodes: f.InodesUsed}
}

// admit requests the admission of the pods to admit, and adds the rejections to the result of a round.
func (r *evictionReplay) admit(round map[string]any) {
	var names []string
	for i := range r.vector.AdmitPods {
		p := &r.vector.AdmitPods[i]
		if ok, _, message := r.machine.Admit(r.converter.Pod(p), conversion.EvictionSpec(p)); !ok {
			names = append(names, p.Name)
			round["rejectMessage"] = message
		}
	}
	if slices.Sort(names); len(names) > 0 {
		round["rejected"] = names
	}
}
