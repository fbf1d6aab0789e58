package main

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/berthproject/berth/engine/cluster"
	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/placement/framework"
	"github.com/berthproject/berth/engine/placement/queueinghints"
	"github.com/berthproject/berth/engine/scheduling"
	"github.com/berthproject/berth/engine/scheduling/profiles"
	"github.com/berthproject/berth/internal/conversion"
)

// batch is the maximum number of decisions per step, as in the scheduler.
const batch = 64

// uidPrefix is the part of a pod's UID before its name.
const uidPrefix = "b1946ac9-2492-4d23-8f9c-"

// driver replaces the API server and the parts of the scheduler that call the machine.
type driver struct {
	workload  *Workload
	encoded   [][]byte // the templates, encoded
	machine   *scheduling.Machine
	converter *conversion.Converter
	placer    *timedPlacer

	pods     map[string]*trackedPod // by UID
	order    []string               // UIDs of bound pods that arrived, oldest first
	events   []scheduling.Event
	finished int // arrived pods that were bound or, with CountUnschedulable, found unschedulable

	start, lastChange                       time.Time // start of the measurement; last binding or eviction
	bound, unschedulable, victims, cascades int
}

// trackedPod is a pod with the data of the measurement.
type trackedPod struct {
	pod           *corev1.Pod // nil with OnDemand
	last          *model.Pod  // as last observed
	node          string
	index         int // index in Pods; -1 for a placed pod
	preemptions   int // number of times that the pod was a victim, under any name
	finished      bool
	unschedulable bool
}

// timedPlacer is a placer that measures the time of its decisions.
type timedPlacer struct {
	profiles.Placer
	decisions int
	elapsed   time.Duration
}

// QueueingHints returns the hints of the Placer, so that the machine groups pending pods.
func (t *timedPlacer) QueueingHints(pod *model.Pod) (any, *queueinghints.Hints) {
	return t.Placer.(interface {
		QueueingHints(*model.Pod) (any, *queueinghints.Hints)
	}).QueueingHints(pod)
}

func (t *timedPlacer) Decide(pod *model.Pod, out *decision.Summary) {
	start := time.Now()
	t.Placer.Decide(pod, out)
	t.elapsed += time.Since(start)
	t.decisions++
}

// newMachine returns a machine with the default profile. It wraps the machine's Placer in placer.
func newMachine(placer *timedPlacer) (*scheduling.Machine, error) {
	p, err := framework.NewProfile(framework.DefaultConfig())
	if err != nil {
		return nil, err
	}
	cfg := scheduling.DefaultConfig()
	profile := profiles.New(p, 1, 0)
	cfg.Profiles = []profiles.Profile{{Name: profile.Name, NewPlacer: func(s *cluster.State) profiles.Placer {
		placer.Placer = profile.NewPlacer(s)
		return placer
	}}}
	return scheduling.New(cfg), nil
}

func newDriver(w *Workload) (*driver, error) {
	d := &driver{workload: w, converter: conversion.New(), placer: &timedPlacer{}, pods: map[string]*trackedPod{}}
	for _, t := range w.Templates {
		raw, err := t.Marshal()
		if err != nil {
			return nil, err
		}
		d.encoded = append(d.encoded, raw)
	}
	var err error
	if d.machine, err = newMachine(d.placer); err != nil {
		return nil, err
	}
	return d, d.addInitialObjects()
}

// addInitialObjects adds the cluster as it is before any pod arrives.
func (d *driver) addInitialObjects() error {
	d.addEvent(&model.Namespace{Name: "default"})
	for _, s := range d.workload.Services {
		d.addEvent(d.converter.Service(s))
	}
	for _, n := range d.workload.Nodes {
		d.addEvent(d.converter.Node(n))
	}
	for i, p := range d.workload.Placed {
		pod, err := d.newPod(p.Template, fmt.Sprintf("placed-%d", i))
		if err != nil {
			return err
		}
		pod.Spec.NodeName, pod.Status.Phase = p.Node, corev1.PodRunning
		tracked := &trackedPod{index: -1, node: p.Node}
		d.pods[string(pod.UID)] = tracked
		d.addPodEvent(tracked, pod)
	}
	d.machine.Step(time.Now(), d.events, 0)
	d.events = d.events[:0]
	return nil
}

func (d *driver) addEvent(object any) { d.events = append(d.events, object) }

func (d *driver) addPodEvent(tracked *trackedPod, pod *corev1.Pod) {
	tracked.last = d.converter.Pod(pod)
	d.addEvent(tracked.last)
}

// newPod decodes a new pod from a template.
func (d *driver) newPod(template int, name string) (*corev1.Pod, error) {
	pod := &corev1.Pod{}
	if err := pod.Unmarshal(d.encoded[template]); err != nil {
		return nil, err
	}
	pod.Name, pod.UID = name, types.UID(uidPrefix+name)
	pod.CreationTimestamp.Time = time.Now()
	return pod, nil
}

// prepare returns new pods for the indexes from up to, but not including, to. It returns nil if pods are
// created on demand.
func (d *driver) prepare(from, to int) ([]*corev1.Pod, error) {
	if d.workload.OnDemand {
		return nil, nil
	}
	pods := make([]*corev1.Pod, 0, to-from)
	for i := from; i < to; i++ {
		pod, err := d.newPod(d.workload.Pods[i], fmt.Sprintf("p-%d", i))
		if err != nil {
			return nil, err
		}
		pods = append(pods, pod)
	}
	return pods, nil
}

// arrive adds the pods with the indexes from up to, but not including, to, all at once. It runs the machine until
// each is finished: bound or, with CountUnschedulable, found unschedulable.
func (d *driver) arrive(from, to int) error {
	pods, err := d.prepare(from, to)
	if err != nil {
		return err
	}
	return d.work(pods, from, to, 0)
}

// arriveAll adds all pods that are measured and runs the machine until the end.
func (d *driver) arriveAll(pods []*corev1.Pod) error {
	size, to := d.workload.Batch, len(d.workload.Pods)
	if size == 0 {
		size = to
	}
	for from := d.workload.Warm; from < to; from += size {
		if err := d.work(pods[min(len(pods), from-d.workload.Warm):], from, min(from+size, to), 0); err != nil {
			return err
		}
	}
	return d.work(nil, to, to, d.workload.Settle)
}

// addPod adds a pod, which was a victim the given number of times.
func (d *driver) addPod(pod *corev1.Pod, index, preemptions int) {
	tracked := &trackedPod{index: index, preemptions: preemptions, finished: preemptions > 0}
	if !d.workload.OnDemand {
		tracked.pod = pod
	}
	d.pods[string(pod.UID)] = tracked
	d.addPodEvent(tracked, pod)
}

// work adds pods and runs the machine until all of them are finished. If settle is not 0, it continues
// until no pod was bound or evicted for settle seconds.
func (d *driver) work(pods []*corev1.Pod, from, to int, settle float64) error {
	for i := from; i < to; i++ {
		var pod *corev1.Pod
		if !d.workload.OnDemand {
			pod = pods[i-from]
		} else if created, err := d.newPod(d.workload.Pods[i], fmt.Sprintf("p-%d", i)); err == nil {
			pod = created
		} else {
			return err
		}
		d.addPod(pod, i, 0)
	}
	const timeout = 5 * time.Minute
	for start := time.Now(); ; {
		now := time.Now()
		effects, wake := d.machine.Step(now, d.events, batch)
		d.events = d.events[:0]
		for _, e := range effects {
			if err := d.execute(e); err != nil {
				return err
			}
		}
		if d.finished >= to && len(d.events) == 0 && (settle == 0 || time.Since(d.lastChange).Seconds() > settle) {
			return nil
		}
		if time.Since(start) > timeout {
			return fmt.Errorf("%d of %d pods are bound or reported after %v", d.finished, to, timeout)
		}
		if len(d.events) == 0 {
			d.sleep(wake)
		}
	}
}

// sleep waits until the machine must be called again.
func (d *driver) sleep(wake time.Time) {
	pause := 100 * time.Millisecond
	if !wake.IsZero() {
		pause = min(pause, time.Until(wake))
	}
	if pause > 0 {
		time.Sleep(pause)
	}
}

// markFinished counts a pod as finished, at most once.
func (d *driver) markFinished(tracked *trackedPod) {
	if tracked.index >= 0 && !tracked.finished {
		tracked.finished = true
		d.finished++
	}
}

func (d *driver) removePod(uid string) {
	d.events = append(d.events, scheduling.Remove{Object: d.pods[uid].last})
	delete(d.pods, uid)
	if i := slices.Index(d.order, uid); i >= 0 {
		d.order = slices.Delete(d.order, i, i+1)
	}
}
