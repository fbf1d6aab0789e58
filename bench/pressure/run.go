package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"

	"github.com/berthproject/berth/agent/pressure"
	"github.com/berthproject/berth/engine/nodepressure"
)

// watcher is a way to watch a node.
type watcher struct {
	name string
	poll time.Duration // polling interval, or 0 for the agent's loop
}

// outcome is the result of one run.
type outcome struct {
	kill time.Duration // from the crossing to SIGKILL
	// recovery is the time from the crossing until usage is at or below the threshold, or until the end of the run. It
	// is 0 if usage never crossed the threshold or the kernel killed first.
	recovery   time.Duration
	excess     int64    // maximum bytes above the threshold
	rate       int64    // actual rate of the hog in bytes/s
	oom        bool     // whether the kernel's OOM killer killed the hog first
	unexpected []string // evicted pods that are not the hog, or evicted twice
}

func (w watcher) options(n node, threshold int64) pressure.Options {
	config := nodepressure.Config{
		Thresholds:       []nodepressure.Threshold{{Signal: nodepressure.MemoryAvailable, Value: nodepressure.Value{Quantity: nodepressure.Bytes(threshold)}}},
		TransitionPeriod: 5 * time.Minute, Options: nodepressure.AllOptions(),
	}
	if w.poll > 0 {
		config.Options = nodepressure.Options{}
	}
	return pressure.Options{
		Node: "bench", Host: n.host(), Cgroup: n.path(), Pods: n.podsPath(), Config: config, Stats: n.stats(), Log: klog.Background(),
		NoAlarm: w.poll > 0, MaxInterval: w.poll, MinInterval: w.poll,
	}
}

// run starts a hog under a watcher and waits until the hog has ended. threshold is in bytes, rate in bytes/s.
func run(n node, w watcher, threshold, rate int64) (out outcome, err error) {
	var killed atomic.Int64
	o := w.options(n, threshold)
	o.OnKill = func(_ *corev1.Pod, at time.Time) { killed.CompareAndSwap(0, at.UnixNano()) }
	before := len(n.evictedNames())
	loop, err := pressure.New(o)
	if err != nil {
		return out, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	// Start at a random phase of the polling interval.
	time.Sleep(time.Duration(rand.Int64N(int64(max(w.poll, time.Millisecond)))) % time.Second)
	go func() { done <- loop.Run(ctx, n) }()
	defer func() { cancel(); _ = <-done }()
	if w.poll > 0 {
		time.Sleep(time.Duration(rand.Int64N(int64(w.poll))))
	} else {
		time.Sleep(50 * time.Millisecond) // the loop has listed all pods
	}
	capacity, err := n.capacity()
	if err != nil {
		return out, err
	}
	r, err := startReference(n.host(), n.path(), capacity-threshold)
	if err != nil {
		return out, err
	}
	defer r.close()
	hog, err := n.startHog(rate)
	if err != nil {
		return out, err
	}
	select {
	case <-hog.exited():
	case <-time.After(2 * time.Minute):
		return out, fmt.Errorf("%s: the hog of %d MiB/s was not evicted within 2 minutes", w.name, rate>>20)
	}
	// Unexpected evictions would follow soon after the first.
	time.Sleep(300 * time.Millisecond)
	oom, err := hog.oomKilled()
	if err != nil {
		return out, err
	}
	oom = oom || killed.Load() == 0 // not killed by the watcher
	out = r.outcome(killed.Load(), oom, capacity-threshold)
	out.unexpected = wrongVictims(n.evictedNames()[before:])
	return out, hog.remove()
}

// outcome returns the measurements of a run. killed is the Unix time of SIGKILL in ns, or 0.
func (r *reference) outcome(killed int64, oom bool, level int64) outcome {
	out := outcome{oom: oom, excess: r.peak.Load() - level, rate: r.rate.Load()}
	if killed == 0 || oom {
		return out
	}
	crossed := r.crossed.Load()
	if crossed == 0 { // killed by a forecast; usage never crossed the level
		crossed = killed
	}
	out.kill = time.Duration(killed - crossed)
	switch recovered := r.recovered.Load(); {
	case recovered != 0:
		out.recovery = time.Duration(recovered - crossed)
	case r.crossed.Load() != 0: // still above
		out.recovery = time.Since(time.Unix(0, crossed))
	}
	return out
}

// wrongVictims returns the evicted pods that are not the hog, and the hog if it
// was evicted twice.
func wrongVictims(evicted []string) (out []string) {
	for i, name := range evicted {
		if name != "hog" || i > 0 {
			out = append(out, name)
		}
	}
	return out
}
