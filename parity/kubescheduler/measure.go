package main

import (
	"context"
	"fmt"
	"runtime"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/component-base/metrics/legacyregistry"

	"github.com/berthproject/berth/parity/workload"
)

// arrive adds pods, all at once, and waits for the decisions.
func (s *store) arrive(ctx context.Context, from, to int) error {
	arriving := make([]*corev1.Pod, 0, to-from)
	for i := from; !s.workload.OnDemand && i < to; i++ {
		pod := &corev1.Pod{}
		if err := s.initPod(pod, s.workload.Pods[i], fmt.Sprintf("p-%d", i)); err != nil {
			return err
		}
		arriving = append(arriving, pod)
	}
	for i := from; i < to; i++ {
		s.mu.Lock()
		if s.workload.OnDemand {
			if err := s.createPod(i, 0, fmt.Sprintf("p-%d", i)); err != nil {
				s.mu.Unlock()
				return err
			}
		} else {
			s.addPod(arriving[i-from], i, 0)
		}
		s.mu.Unlock()
	}
	return s.await(ctx, to, 0)
}

// arriveAll adds all pods that are measured and waits for the end.
func (s *store) arriveAll(ctx context.Context) error {
	batch, to := s.workload.Batch, len(s.workload.Pods)
	if batch == 0 {
		batch = to
	}
	for from := s.workload.Warm; from < to; from += batch {
		if err := s.arrive(ctx, from, min(from+batch, to)); err != nil {
			return err
		}
	}
	return s.await(ctx, to, s.workload.Settle)
}

// await waits for the given number of decisions, and until no binding or eviction has happened for settle seconds.
func (s *store) await(ctx context.Context, to int, settle float64) error {
	const timeout = 5 * time.Minute
	for start := time.Now(); ; {
		s.mu.Lock()
		finished, sinceLast := s.finished, time.Since(s.last)
		s.mu.Unlock()
		if finished >= to && (settle == 0 || sinceLast.Seconds() > settle) {
			return nil
		}
		if time.Since(start) > timeout {
			return fmt.Errorf("%s: %d of %d pods finished after %v", s.workload.Name, finished, to, timeout)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-s.changed:
		case <-time.After(100 * time.Millisecond):
		}
	}
}

func (s *store) resetCounters() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.bound, s.refused, s.victims, s.cascades, s.started, s.last = 0, 0, 0, 0, time.Now(), time.Now()
}

// finish writes the outcome of the pods into the result.
func (s *store) finish(r *workload.Result) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r.Bound, r.Refused, r.Victims, r.Cascades = s.bound, s.refused, s.victims, s.cascades
	r.LastChange = s.last.Sub(s.started).Seconds()
	perNode := map[string]int{}
	for _, h := range s.tracked {
		if h.index < 0 {
			continue
		}
		if node := h.pod.Spec.NodeName; node != "" {
			perNode[node]++
			r.MostOnOne = max(r.MostOnOne, perNode[node])
		}
		if s.workload.Settle > 0 {
			r.Final = append(r.Final, workload.Final{Pod: h.index, Node: h.pod.Spec.NodeName})
		}
	}
	r.NodesUsed = len(perNode)
}

// meters are readings of the counters of the process.
type meters struct {
	at                  time.Time
	cpu                 time.Duration
	allocs, bytes       uint64
	decisions, deciding float64
}

func readMeters() (meters, error) {
	var usage syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &usage) // fails only for bad arguments
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	r := meters{at: time.Now(), cpu: time.Duration(usage.Utime.Nano() + usage.Stime.Nano()), allocs: m.Mallocs, bytes: m.TotalAlloc}
	families, err := legacyregistry.DefaultGatherer.Gather()
	if err != nil {
		return r, err
	}
	for _, f := range families {
		if f.GetName() == "scheduler_scheduling_algorithm_duration_seconds" {
			for _, metric := range f.GetMetric() {
				r.decisions += float64(metric.GetHistogram().GetSampleCount())
				r.deciding += metric.GetHistogram().GetSampleSum()
			}
		}
	}
	return r, nil
}

// since records the difference to an earlier reading.
func (r meters) since(before meters, out *workload.Result) {
	out.Seconds = r.at.Sub(before.at).Seconds()
	out.CPU = (r.cpu - before.cpu).Seconds()
	out.Allocs, out.Bytes = float64(r.allocs-before.allocs), float64(r.bytes-before.bytes)
	out.Decisions, out.Deciding = r.decisions-before.decisions, r.deciding-before.deciding
}

func measureMemory(r *workload.Result) error {
	peak, err := workload.PeakRSS("self")
	r.PeakRSS = peak
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	r.LiveHeap = float64(m.HeapAlloc)
	return err
}
