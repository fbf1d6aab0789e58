package pressure

import (
	"context"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/berthproject/berth/engine/pressure"
)

// How often pods' disk use is measured: where pods have limits of it, and else.
const (
	measureLimits = 10 * time.Second
	measureAll    = time.Minute
	// diskAge is how old it may be when a pod must go for want of disk.
	diskAge = 10 * time.Second
)

// collect deletes what nobody uses, in the background.
func (s *Shell) collect(ctx context.Context, wg *sync.WaitGroup, e pressure.Collect) {
	wg.Go(func() {
		var err error
		if s.opts.Collect != nil {
			err = s.opts.Collect(ctx, e.Containers, e.Images)
		}
		now := time.Now()
		for _, d := range s.disks {
			if d != nil {
				_, _ = d.Fresh(now)
			}
		}
		s.mu.Lock()
		s.collected = true
		s.mu.Unlock()
		if err != nil {
			s.opts.Log.Error(err, "Collecting garbage")
		}
		s.watch.wake()
	})
}

// diskKnown says whether the pods' disk use is known afresh, and has it measured
// if not.
func (s *Shell) diskKnown(now time.Time) bool {
	s.mu.Lock()
	done := s.measured
	s.mu.Unlock()
	if at := s.opts.Stats.Measured(); done > s.known && now.Sub(at) < diskAge {
		return true
	}
	s.due = true
	return false
}

// remeasure has disk use measured anew before another pod goes for want of it.
func (s *Shell) remeasure(cause string) {
	signal, ok := pressure.ParseSignal(cause)
	if !ok || signal.Pressure() != pressure.NodeFsAvailable.Pressure() {
		return
	}
	s.forgetDisks()
}

// forgetDisks has disk use measured anew before it is decided upon. A measurement that
// is under way does not count.
func (s *Shell) forgetDisks() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.known = s.measured
	if s.measuring {
		s.known++
	}
}

// tend starts what is due in the background: measuring disks, and opening the
// files of new pods.
func (s *Shell) tend(ctx context.Context, wg *sync.WaitGroup, now time.Time) {
	every := measureAll
	if s.limited.Load() {
		every = measureLimits
	}
	measure := s.due || now.Sub(s.lastMeasure) >= every
	prepare := now.Sub(s.lastPrepare) >= measureLimits
	if !measure && !prepare {
		return
	}
	s.mu.Lock()
	busy := s.measuring
	s.measuring = true
	s.mu.Unlock()
	if busy {
		return
	}
	s.lastPrepare, s.due = now, false
	if measure {
		s.lastMeasure = now
	}
	wg.Go(func() {
		list := s.agent.Pods(s.opts.Node)
		s.opts.Stats.Prepare(list)
		s.limited.Store(limits(list))
		if measure {
			s.fault("pods' disks", s.opts.Stats.Measure(ctx, list))
		}
		s.mu.Lock()
		s.measuring = false
		if measure {
			s.measured++
		}
		s.mu.Unlock()
		if measure {
			s.watch.wake()
		}
	})
}

// limits says whether a pod has a limit of local storage.
func limits(list []*corev1.Pod) bool {
	for _, p := range list {
		for i := range p.Spec.Volumes {
			if e := p.Spec.Volumes[i].EmptyDir; e != nil && e.SizeLimit != nil {
				return true
			}
		}
		for _, containers := range [][]corev1.Container{p.Spec.Containers, p.Spec.InitContainers} {
			for i := range containers {
				if _, ok := containers[i].Resources.Limits[corev1.ResourceEphemeralStorage]; ok {
					return true
				}
			}
		}
	}
	return false
}
