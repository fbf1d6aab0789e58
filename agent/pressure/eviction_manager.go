//go:build linux

package pressure

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/berthproject/berth/agent/cgroup"
	"github.com/berthproject/berth/agent/stats"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/nodepressure"
	"github.com/berthproject/berth/internal/conversion"
)

// Manager monitors the resources of a node and evicts pods. It implements agent.PressureManager. Create
// it with New, start it with Run.
type Manager struct {
	opts      Options
	nodeStats *stats.Node
	started   time.Time
	converter *conversion.Converter

	// mu guards the fields that the agent reads while the loop runs.
	mu      sync.Mutex
	machine *nodepressure.Machine
	reserve *nodepressure.DiskReserve
	// reportedReserve is set after the reserve's first decision.
	reportedReserve bool
	terminating     map[types.UID]termination
	lastKilled      time.Time
	// State of background tasks.
	measuring, collected bool
	measurements         int                      // completed measurements
	measureDuration      time.Duration            // of the last measurement
	lastErrors           map[string]string        // text of the last error by source; "" after a success
	observed             nodepressure.Observation // of the last Step, for reports
	report               *Report                  // the last report, at most reportInterval old when it is served

	agent Agent
	watch waiter
	// Used only by the loop.
	obs                  nodepressure.Observation
	memory               cgroup.Memory // of the node
	unaccountedCache     int64         // bytes of page cache that the kernel has not accounted yet
	pods                 cgroup.Memory // of the cgroup of all pods
	stall                cgroup.PSI    // memory pressure of the node
	observedPods         []*corev1.Pod
	thresholds           thresholds
	disks                [nodepressure.NumSignals]*stats.Disk
	diskStatTimes        [nodepressure.NumSignals]time.Time // that the machine sees; see observeDisks
	limitsCheckedAt      int                                // value of measurements when limits were last checked
	requiredMeasurements int                                // measurements required before a decision on disk signals
	diskLow              bool                               // a disk was low at the last check
	reclaimFailedUntil   [model.NumPressures]time.Time      // no pod could be evicted; do not report again until then
	lastAlarmMove        time.Time
	// measureNow requests an immediate measurement.
	measureNow               bool
	lastMeasure, lastPrepare time.Time
	lastAvailable            int64       // bytes of the disks at lastMeasure
	hasDiskLimits            atomic.Bool // a pod has a limit on local storage
}

// termination is a pod that is being evicted.
type termination struct {
	deadline time.Time // end of its grace period
	cgroup   string    // to be killed, or "" if the agent stops the pod
}

// New returns a Manager with open statistics files. Run closes them; call Close if Run is not called.
func New(o Options) (*Manager, error) {
	if err := o.validate(); err != nil {
		return nil, err
	}
	m := &Manager{opts: o, started: time.Now(), converter: conversion.New(), terminating: map[types.UID]termination{}, lastErrors: map[string]string{}, machine: nodepressure.New(o.Config)}
	var err error
	if m.reserve, err = nodepressure.NewDiskReserve(o.Reserve, m.fsSpace); err != nil {
		return nil, err
	}
	if m.nodeStats, err = stats.OpenNode(o.Host, o.Cgroup, o.Pods); err != nil {
		return nil, err
	}
	if err := m.watch.open(); err != nil {
		m.nodeStats.Close()
		return nil, err
	}
	m.disks = [nodepressure.NumSignals]*stats.Disk{
		nodepressure.NodeFsAvailable: o.NodeFs, nodepressure.NodeFsInodesFree: o.NodeFs, nodepressure.ImageFsAvailable: o.ImageFs,
		nodepressure.ImageFsInodesFree: o.ImageFs, nodepressure.ContainerFsAvailable: o.ContainerFs, nodepressure.ContainerFsInodesFree: o.ContainerFs,
	}
	m.thresholds.add(m.machine.Thresholds())
	m.obs.Pods = m.observePods
	m.setAlarm()
	return m, nil
}

// fsSpace returns capacity and available space of a file system for the reserve.
func (m *Manager) fsSpace(f nodepressure.Filesystem) (nodepressure.FsSpace, error) {
	d := m.opts.ImageFs
	if f == nodepressure.RootFs || d == nil {
		d = m.opts.NodeFs
	}
	if d == nil {
		return nodepressure.FsSpace{}, errors.New("the file system of the node is not monitored")
	}
	u, err := d.Usage(time.Now())
	return nodepressure.FsSpace{Capacity: u.Capacity, Available: u.Available}, err
}

// Run monitors the node until ctx ends. It requests evictions from a.
func (m *Manager) Run(ctx context.Context, a Agent) error {
	m.mu.Lock() // Report may be called already
	m.agent = a
	m.mu.Unlock()
	var wg sync.WaitGroup
	defer m.Close()
	defer wg.Wait()
	stop := context.AfterFunc(ctx, m.watch.wake)
	defer stop()
	m.opts.Log.Info("Monitoring node resources", "memory", m.Describe(), "processes", "every 10 ms near a threshold, otherwise every 1 s", "disks", "statfs every 2 s")
	wg.Go(func() {
		// A dedicated thread with raised priority if permitted; it ends with the goroutine.
		runtime.LockOSThread()
		raisePriority()
		next := time.Duration(0)
		for {
			trigger, err := m.watch.wait(next)
			if ctx.Err() != nil {
				return
			}
			if err != nil {
				m.logError("wait", err)
			}
			next = m.synchronize(ctx, &wg, time.Now(), trigger)
		}
	})
	<-ctx.Done()
	return nil
}

// Close closes the files that New opened. Call it only if Run is not called.
func (m *Manager) Close() {
	m.watch.close()
	m.nodeStats.Close()
}

// Describe returns a description of how the manager monitors memory.
func (m *Manager) Describe() string {
	if m.watch.alarm == nil {
		return fmt.Sprintf("polling cgroup %s every 10 ms near a threshold, otherwise every 1 s (cgroups %s)", m.opts.Cgroup, m.opts.Host.Mode)
	}
	return fmt.Sprintf("%s of cgroup %s (cgroups %s), polled every 10 ms near a threshold", m.watch.alarm, m.watch.path, m.opts.Host.Mode)
}

// logError logs an error unless the last error of this source had the same text.
func (m *Manager) logError(source string, err error) {
	text := ""
	if err != nil {
		text = err.Error()
	}
	m.mu.Lock()
	same := m.lastErrors[source] == text
	m.lastErrors[source] = text
	m.mu.Unlock()
	if !same && err != nil {
		m.opts.Log.Error(err, "Failed to monitor node resources", "source", source)
	}
}
