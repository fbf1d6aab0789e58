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

// Manager watches a node for what it runs short of. It is an agent.Pressure.
// Make it with New, start it with Run.
type Manager struct {
	opts      Options
	nodeStats *stats.Node
	started   time.Time
	converter *conversion.Converter

	// mu guards what the agent asks for while the loop runs.
	mu          sync.Mutex
	machine     *nodepressure.Machine
	reserve     *nodepressure.DiskReserve
	terminating map[types.UID]termination
	// What goes on in the background, and how it ended.
	measuring, collected bool
	measurements         int // how often it was done
	lastErrors           map[string]string

	agent Agent
	watch waiter
	// Of the loop alone.
	obs                  nodepressure.Observation
	memory               cgroup.Memory
	unaccountedCache     int64 // page cache that the kernel has not counted yet
	pods                 cgroup.Memory
	stall                cgroup.PSI
	observedPods         []*corev1.Pod
	thresholds           thresholds
	disks                [nodepressure.NumSignals]*stats.Disk
	diskStatTimes        [nodepressure.NumSignals]time.Time
	limitsCheckedAt      int                           // measurements whose limits were checked
	requiredMeasurements int                           // measurements that disks may be decided on
	diskLow              bool                          // a disk was low at the last look
	reclaimFailedUntil   [model.NumPressures]time.Time // there is nobody to end until then
	lastSync             time.Time
	lastKilled           time.Time
	lastAlarmMove        time.Time
	// measureNow asks for a measurement at once.
	measureNow               bool
	lastMeasure, lastPrepare time.Time
	hasDiskLimits            atomic.Bool // some pod has a limit of local storage
}

// termination is a pod that is being ended.
type termination struct {
	by     time.Time // end of its grace
	cgroup string    // to be killed, "" when it is left to the agent
}

// New opens what is watched. Close it, or let Run do so.
func New(o Options) (*Manager, error) {
	if err := o.validate(); err != nil {
		return nil, err
	}
	s := &Manager{opts: o, started: time.Now(), converter: conversion.New(), terminating: map[types.UID]termination{}, lastErrors: map[string]string{}, machine: nodepressure.New(o.Config)}
	var err error
	if s.reserve, err = nodepressure.NewDiskReserve(o.Reserve, s.diskFigure); err != nil {
		return nil, err
	}
	if s.nodeStats, err = stats.OpenNode(o.Host, o.Cgroup, o.Pods); err != nil {
		return nil, err
	}
	if err := s.watch.open(); err != nil {
		s.nodeStats.Close()
		return nil, err
	}
	s.disks = [nodepressure.NumSignals]*stats.Disk{
		nodepressure.NodeFsAvailable: o.NodeFs, nodepressure.NodeFsInodesFree: o.NodeFs, nodepressure.ImageFsAvailable: o.ImageFs,
		nodepressure.ImageFsInodesFree: o.ImageFs, nodepressure.ContainerFsAvailable: o.ContainerFs, nodepressure.ContainerFsInodesFree: o.ContainerFs,
	}
	s.thresholds.add(s.machine.Thresholds())
	s.obs.Pods = s.observePods
	s.setAlarm()
	return s, nil
}

// diskFigure is what a file system has, for the reserve.
func (s *Manager) diskFigure(f nodepressure.Filesystem) (nodepressure.FsSpace, error) {
	d := s.opts.ImageFs
	if f == nodepressure.RootFs || d == nil {
		d = s.opts.NodeFs
	}
	if d == nil {
		return nodepressure.FsSpace{}, errors.New("it is not known where it is")
	}
	u, err := d.Usage(time.Now())
	return nodepressure.FsSpace{Capacity: u.Capacity, Available: u.Available}, err
}

// Run watches until ctx ends. What is to be ended is told to a.
func (s *Manager) Run(ctx context.Context, a Agent) error {
	s.agent = a
	var wg sync.WaitGroup
	defer s.close()
	defer wg.Wait()
	stop := context.AfterFunc(ctx, s.watch.wake)
	defer stop()
	s.opts.Log.Info("Watching the node", "memory", s.Describe(), "processes", "every 10 ms near a threshold, else every second", "disks", "statfs, every 2 s")
	wg.Go(func() {
		// A thread of its own, ahead of the pods where the machine lets us; it ends with the goroutine.
		runtime.LockOSThread()
		raisePriority()
		next := time.Duration(0)
		for {
			by, err := s.watch.wait(next)
			if ctx.Err() != nil {
				return
			}
			if err != nil {
				s.logError("wait", err)
			}
			next = s.synchronize(ctx, &wg, time.Now(), by)
		}
	})
	<-ctx.Done()
	return nil
}

func (s *Manager) close() {
	s.watch.close()
	s.nodeStats.Close()
}

// Close closes what New has opened, where Run is not called.
func (s *Manager) Close() { s.close() }

// Describe says how memory is watched.
func (s *Manager) Describe() string {
	if s.watch.alarm == nil {
		return fmt.Sprintf("cgroup %s, every 10 ms near a threshold, else up to every second (cgroups %s)", s.opts.Cgroup, s.opts.Host.Mode)
	}
	return fmt.Sprintf("%s of cgroup %s (cgroups %s), and every 10 ms near a threshold", s.watch.alarm, s.watch.path, s.opts.Host.Mode)
}

// logError logs an error of a kind once, until it is another.
func (s *Manager) logError(of string, err error) {
	text := ""
	if err != nil {
		text = err.Error()
	}
	s.mu.Lock()
	same := s.lastErrors[of] == text
	s.lastErrors[of] = text
	s.mu.Unlock()
	if !same && err != nil {
		s.opts.Log.Error(err, "Figures of the node cannot be read", "of", of)
	}
}
